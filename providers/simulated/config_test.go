package simulated

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/internal/golden"
)

// Each file testdata/config/NAME.yaml is refused with the text in NAME.error.
func TestConfigIsRefused(t *testing.T) {
	files, err := filepath.Glob("testdata/config/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = New(bytes.NewReader(content))
			if err == nil {
				t.Fatal("was accepted")
			}
			golden.Compare(t, strings.TrimSuffix(file, ".yaml")+".error", err.Error()+"\n", "providers/simulated/config.go")
		})
	}
}

func TestConfigIsRead(t *testing.T) {
	for name, row := range map[string]struct {
		text string
		want config
	}{
		"EndpointAlone": {"endpoint: http://127.0.0.1:7640\n", config{Endpoint: "http://127.0.0.1:7640"}},
		"All":           {"# a comment\n---\ntimeout: 10s\nrouteAddresses: true\nbatchRoutes: true\nwithoutLists: true\nwithoutRouteApplier: true\nwithoutConcurrentServices: true\npageSize: 50\nendpoint: \"https://cloud.example/sim\"\n", config{"https://cloud.example/sim", 50, 10 * time.Second, true, true, optional{fastPaths: fastPaths{Lists: true}, RouteApplier: true, ConcurrentServices: true}}},
		"JSON":          {`{"endpoint": "http://[::1]:1"}`, config{Endpoint: "http://[::1]:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseConfig(strings.NewReader(row.text))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(row.want, got, cmp.AllowUnexported(config{}, optional{}, fastPaths{})); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestConfigThatCannotBeRead(t *testing.T) {
	broken := errors.New("the disk is gone")
	if _, err := New(iotest.ErrReader(broken)); err == nil || !strings.Contains(err.Error(), broken.Error()) {
		t.Errorf("got %v", err)
	}
}

func TestConfigIsUTF8(t *testing.T) {
	const utf16 = "\xff\xfee\x00n\x00d\x00"
	if _, err := parseConfig(strings.NewReader(utf16)); err == nil || err.Error() != "cloud config: the file is not UTF-8 text: write it anew in that encoding" {
		t.Errorf("got %v", err)
	}
}
