package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModulesOf(t *testing.T) {
	old := &debug.Module{Path: "example.com/old", Version: "v2.0.0+incompatible", Sum: "h1:old="}
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{{Path: "example.com/new", Version: "v1.0.0", Replace: old}}}
	const std, oldRef = "pkg:golang/std@1.26.8", "pkg:golang/example.com/old@v2.0.0%2Bincompatible"
	want := map[string]object{
		std: {"bom-ref": std, "purl": std, "type": "library", "name": "std", "version": "1.26.8", "licenses": []object{{"license": object{"id": "BSD-3-Clause"}}}},
		oldRef: {
			"bom-ref": oldRef, "purl": oldRef, "type": "library", "name": "example.com/old", "version": "v2.0.0+incompatible",
			"licenses":   []object{{"license": object{"id": "MIT"}}, {"license": object{"id": "Apache-2.0"}}},
			"properties": []object{{"name": "fairlead:go.sum", "value": "h1:old="}},
		},
	}
	got, err := modulesOf(info, map[string][]string{"example.com/old": {"MIT", "Apache-2.0"}})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if _, err := modulesOf(info, nil); err == nil || !strings.Contains(err.Error(), "example.com/old") {
		t.Errorf("UnknownLicenceFails: %v", err)
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
	args := []string{"-name", "test", "-version", "v1.0.0", "-time", "86400", "-licences", "../../THIRD_PARTY.md"}
	var first, second bytes.Buffer
	if err := run(args, &first); err == nil {
		t.Error("NoProgramFails")
	}
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := run(append(args, self), out); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != second.String() {
		t.Error("the same program has two bills")
	}
	var got struct {
		BOMFormat    string
		Metadata     struct{ Timestamp string }
		Components   []struct{ Hashes []struct{ Content string } }
		Dependencies []struct {
			Ref       string
			DependsOn []string
		}
	}
	if err := json.Unmarshal(first.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.BOMFormat != "CycloneDX" || got.Metadata.Timestamp != "1970-01-02T00:00:00Z" || len(got.Components) < 2 || len(got.Components[0].Hashes[0].Content) != 64 {
		t.Errorf("%+v", got)
	}
	if len(got.Dependencies) != 2 || got.Dependencies[0].Ref != "test" || got.Dependencies[0].DependsOn[0] != got.Dependencies[1].Ref {
		t.Errorf("dependencies: %+v", got.Dependencies)
	}
}
