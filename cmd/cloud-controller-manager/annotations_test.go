package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/ipam"
	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
	"github.com/fairlead-k8s/fairlead/providers/simulated"
)

// The reference page of annotations, labels and tags must list exactly the keys in
// the code.
func TestAnnotationsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/annotations.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if cell, ok := strings.CutPrefix(line, "| "); ok {
			if parts := strings.Split(strings.Split(cell, " | ")[0], "`"); len(parts) == 3 {
				got = append(got, parts[1])
			}
		}
	}
	want := []string{
		service.AnnotationClass, service.AnnotationBackends, api.AnnotationAlphaProvidedIPAddr, node.AnnotationLabels, ipam.AnnotationFence, ownership.LabelExclude, ownership.LabelExcludeRestricted, ownership.LabelProvider, ownership.LabelProviderRestricted, nodefact.LabelIdentity, corev1.LabelNodeExcludeBalancers,
		simulated.TagCluster, simulated.TagServiceUID, simulated.TagService, simulated.TagNode,
	}
	for _, a := range simulated.Annotations() {
		want = append(want, string(a))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-code +page):\n%s", diff)
	}
	for _, key := range writtenIn(t, "../../internal/controller", "../../providers") {
		if !slices.Contains(got, key) {
			t.Errorf("the page does not have %s", key)
		}
	}
}

// writtenIn returns the keys of our domain that are in the code of the folders.
func writtenIn(t *testing.T, folders ...string) []string {
	t.Helper()
	ours := regexp.MustCompile(`"([a-z.]*fairlead\.dev/[a-z-]+)"`)
	var keys []string
	for _, folder := range folders {
		if err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range ours.FindAllStringSubmatch(string(text), -1) {
				keys = append(keys, found[1])
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(keys) == 0 {
		t.Error("no key was found in the code")
	}
	return keys
}
