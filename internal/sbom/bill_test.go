package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBill(t *testing.T) {
	yaml := &debug.Module{Path: "example.com/yaml", Version: "v1.2.3", Sum: "h1:yaml="}
	old := &debug.Module{Path: "example.com/old", Version: "v2.0.0+incompatible", Sum: "h1:old="}
	licences := map[string][]string{"example.com/yaml": {"MIT", "Apache-2.0"}, "example.com/old": {"MIT"}}
	daemon := program{name: "daemon", sha256: "aa", info: &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{yaml}}}
	tool := program{name: "tool", sha256: "bb", info: &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{
		yaml, {Path: "example.com/new", Version: "v1.0.0", Replace: old},
	}}}

	got, err := billOf(release{
		name: "fairlead_v1.0.0_linux_amd64", version: "v1.0.0", made: time.Unix(86400, 0), programs: []program{daemon, tool}, licences: licences,
	})
	if err != nil {
		t.Fatal(err)
	}
	const (
		std     = "pkg:golang/std@1.26.8"
		oldRef  = "pkg:golang/example.com/old@v2.0.0%2Bincompatible"
		yamlRef = "pkg:golang/example.com/yaml@v1.2.3"
		root    = "fairlead_v1.0.0_linux_amd64"
	)
	want := bill{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: metadata{
			Timestamp: "1970-01-02T00:00:00Z",
			Component: component{Ref: root, Type: "application", Name: root, Version: "v1.0.0"},
		},
		Components: []component{
			{Ref: root + "/daemon", Type: "application", Name: "daemon", Version: "v1.0.0", Hashes: []hash{{"SHA-256", "aa"}}},
			{Ref: root + "/tool", Type: "application", Name: "tool", Version: "v1.0.0", Hashes: []hash{{"SHA-256", "bb"}}},
			{
				Ref: oldRef, Type: "library", Name: "example.com/old", Version: "v2.0.0+incompatible", PURL: oldRef,
				Licences: choices([]string{"MIT"}), Properties: []property{{"fairlead:go.sum", "h1:old="}},
			},
			{
				Ref: yamlRef, Type: "library", Name: "example.com/yaml", Version: "v1.2.3", PURL: yamlRef,
				Licences: choices([]string{"MIT", "Apache-2.0"}), Properties: []property{{"fairlead:go.sum", "h1:yaml="}},
			},
			{Ref: std, Type: "library", Name: "std", Version: "1.26.8", PURL: std, Licences: choices([]string{"BSD-3-Clause"})},
		},
		Dependencies: []dependency{
			{Ref: root, DependsOn: []string{root + "/daemon", root + "/tool"}},
			{Ref: root + "/daemon", DependsOn: []string{yamlRef, std}},
			{Ref: root + "/tool", DependsOn: []string{oldRef, yamlRef, std}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	delete(licences, "example.com/yaml")
	_, err = billOf(release{name: "x", version: "v1.0.0", programs: []program{daemon}, licences: licences})
	if err == nil || !strings.Contains(err.Error(), "example.com/yaml") {
		t.Errorf("UnknownLicenceFails: %v", err)
	}
	if _, err := billOf(release{name: "x", version: "v1.0.0"}); err == nil {
		t.Error("NoProgramFails")
	}
}

// TestBillOfAProgram reads the binary of this test, in which Go records no modules.
func TestBillOfAProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../THIRD_PARTY.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(licencesOf(string(page))); n < 20 {
		t.Errorf("found the licences of %d modules", n)
	}
	args := []string{"-name", "test", "-version", "v1.0.0", "-time", "1", "-licences", "../../THIRD_PARTY.md", self}
	var first, second bytes.Buffer
	if err := run(args, &first); err != nil {
		t.Fatal(err)
	}
	if err := run(args, &second); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Error("the same program has two bills")
	}
	var got bill
	if err := json.Unmarshal(first.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Format != "CycloneDX" || len(got.Components) < 2 || len(got.Components[0].Hashes[0].Content) != 64 {
		t.Errorf("%+v", got)
	}
}
