package deploy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// krewManifest has the fields of the manifest that krew reads.
type krewManifest struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Version, Homepage, ShortDescription, Description string
		Platforms                                        []struct {
			URI, SHA256, Bin string
			Selector         struct{ MatchLabels map[string]string }
			Files            []struct{ From, To string }
		}
	}
}

// TestKrewManifest makes the manifest as tools/release.sh does, but from checksums that
// the test has invented.
func TestKrewManifest(t *testing.T) {
	const version = "v1.2.3"
	var lines strings.Builder
	sums := map[string]string{}
	for _, arch := range []string{"amd64", "arm64"} {
		sum := sha256.Sum256([]byte(arch))
		sums[arch] = hex.EncodeToString(sum[:])
		fmt.Fprintf(&lines, "%s  fairlead_%s_linux_%s.tar.gz\n", sums[arch], version, arch)
	}
	checksums := filepath.Join(t.TempDir(), "checksums.txt")
	if err := os.WriteFile(checksums, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := exec.CommandContext(t.Context(), "../tools/krew.sh", version, checksums).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got krewManifest
	if err := yaml.UnmarshalStrict(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || got.Kind != "Plugin" || got.Metadata.Name != "fairlead" {
		t.Errorf("krew does not know %s %s %q", got.APIVersion, got.Kind, got.Metadata.Name)
	}
	if got.Spec.Version != version || !regexp.MustCompile(`^v\d+\.\d+\.\d+`).MatchString(got.Spec.Version) {
		t.Errorf("version %q", got.Spec.Version)
	}
	if got.Spec.Homepage == "" || got.Spec.Description == "" || len(got.Spec.ShortDescription) > 50 || got.Spec.ShortDescription == "" {
		t.Errorf("krew wants a homepage, a description and a short one: %+v", got.Spec)
	}
	if len(got.Spec.Platforms) != len(sums) {
		t.Errorf("%d platforms, want %d", len(got.Spec.Platforms), len(sums))
	}
	for _, p := range got.Spec.Platforms {
		labels := p.Selector.MatchLabels
		folder := fmt.Sprintf("fairlead_%s_%s_%s", version, labels["os"], labels["arch"])
		if p.SHA256 != sums[labels["arch"]] || !strings.HasSuffix(p.URI, "/"+version+"/"+folder+".tar.gz") {
			t.Errorf("%v: archive %s with checksum %s", labels, p.URI, p.SHA256)
		}
		// krew takes the program out of the archive and links kubectl-fairlead to it.
		if p.Bin != "fairlead" || len(p.Files) == 0 || p.Files[0].From != folder+"/"+p.Bin || p.Files[0].To != "." {
			t.Errorf("%v: program %s of %+v", labels, p.Bin, p.Files)
		}
	}
	release := read(t, "../tools/release.sh")
	for _, part := range []string{"name=fairlead_${version}_$(echo", `tools/krew.sh "$version" "$out/archives.txt"`, "kubectl_complete-fairlead"} {
		if !strings.Contains(release, part) {
			t.Errorf("tools/release.sh has no %q", part)
		}
	}
}

func TestKrewManifestIsRefused(t *testing.T) {
	const characters = ` must consist of letters, digits, dots, + and -`
	for name, row := range map[string]struct{ version, want string }{
		"NoChecksum":  {"v1.2.3", "/dev/null has no checksum of fairlead_v1.2.3_linux_amd64.tar.gz"},
		"NoVersion":   {"", `the version ""` + characters},
		"Slash":       {"release/v1.2.3", `the version "release/v1.2.3"` + characters},
		"Ampersand":   {"v1.2.3&", `the version "v1.2.3&"` + characters},
		"EndOfScript": {"v1|p;s|x", `the version "v1|p;s|x"` + characters},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), "../tools/krew.sh", row.version, os.DevNull).CombinedOutput()
			if want := "krew: " + row.want + "\n"; err == nil || string(out) != want {
				t.Errorf("got %q, error %v, want %q", out, err, want)
			}
		})
	}
}

// TestCompletionFile runs the completion file with a kubectl that prints how it is
// called.
func TestCompletionFile(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "kubectl"), []byte("#!/bin/sh\necho \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "./krew/kubectl_complete-fairlead", "explain", "")
	c.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
	if out, err := c.Output(); err != nil || string(out) != "fairlead __complete explain \n" {
		t.Errorf("kubectl is called with %q, error %v", out, err)
	}
}
