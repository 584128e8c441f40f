package versions

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// modules parses a list of modules. Each module is written as path@version or, if
// it is replaced, as path@version=>version.
func modules(list string) []*debug.Module {
	var all []*debug.Module
	for text := range strings.FieldsSeq(list) {
		text, replaced, isReplaced := strings.Cut(text, "=>")
		path, version, _ := strings.Cut(text, "@")
		m := &debug.Module{Path: path, Version: version}
		if isReplaced {
			m.Replace = &debug.Module{Path: path, Version: replaced}
		}
		all = append(all, m)
	}
	return all
}

func TestModulesThatAreBehind(t *testing.T) {
	for _, tc := range []struct {
		name    string
		modules string
		want    string
	}{
		{"None", "", "[]"},
		{"AllAlike", "k8s.io/api@v0.37.1 k8s.io/client-go@v0.37.1", "[]"},
		{"AnotherPatchIsNotBehind", "k8s.io/api@v0.37.0 k8s.io/client-go@v0.37.1", "[]"},
		{
			"OneIsBehind", "k8s.io/api@v0.37.1 k8s.io/apiextensions-apiserver@v0.35.3",
			"[k8s.io/apiextensions-apiserver is at v0.35.3 while other modules of Kubernetes are at v0.37.1, and may not work: go get k8s.io/apiextensions-apiserver@v0.37.1]",
		},
		{
			"AllOfKubernetesIsBehind", "k8s.io/api@v0.37.1 k8s.io/kubernetes@v1.35.3",
			"[k8s.io/kubernetes is at v1.35.3 while other modules of Kubernetes are at v1.37.1, and may not work: go get k8s.io/kubernetes@v1.37.1]",
		},
		{
			"ReplacedByAnOlderOne", "k8s.io/api@v0.37.1 k8s.io/apiserver@v0.37.1=>v0.34.0",
			"[k8s.io/apiserver is at v0.34.0 while other modules of Kubernetes are at v0.37.1, and may not work: go get k8s.io/apiserver@v0.37.1]",
		},
		{"ReplacedByANewerOne", "k8s.io/api@v0.37.1 k8s.io/apiserver@v0.34.0=>v0.37.1", "[]"},
		{"ReplacedByAFolder", "k8s.io/api@v0.37.1 k8s.io/apiserver@v0.34.0=>", "[]"},
		{
			"OtherModulesHaveOtherNumbers",
			"k8s.io/api@v0.37.1 k8s.io/klog@v0.1.0 k8s.io/klog/v2@v2.140.0 k8s.io/utils@v0.0.0-20260626114624-be93311217bd k8s.io/kube-openapi@v0.0.0-20260721132016-d427ff9ee9ad k8s.io/cloud-provider-aws@v1.34.3 k8s.io/cloud-provider-gcp/providers@v0.28.2 sigs.k8s.io/yaml@v1.6.0",
			"[]",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, fmt.Sprint(Among(modules(tc.modules)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
