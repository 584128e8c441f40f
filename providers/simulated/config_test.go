package simulated

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// Package kit reads the file. These are the checks of the provider.
func TestConfigIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"pageSize: 2": "cloud config: line 1: endpoint: is missing",
		"endpoint: ftp://127.0.0.1\npageSize: -1\ncolour: red": "cloud config: line 1: endpoint: must be a URL",
	} {
		if _, err := New(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestConfigIsRead(t *testing.T) {
	for name, row := range map[string]struct {
		text string
		want config
	}{
		"EndpointAlone": {"endpoint: http://127.0.0.1:7640\n", config{Endpoint: "http://127.0.0.1:7640"}},
		"All":           {"# a comment\n---\nrouteAddresses: true\nwithoutLists: true\nwithoutRouteApplier: true\nwithoutConcurrentCalls: true\npageSize: 50\nmaxBackends: 25\nendpoint: \"https://cloud.example/sim\"\n", config{"https://cloud.example/sim", 50, 25, true, optional{Lists: true, RouteApplier: true, ConcurrentCalls: true}}},
		"JSON":          {`{"endpoint": "http://[::1]:1"}`, config{Endpoint: "http://[::1]:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseConfig(strings.NewReader(row.text))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(row.want, got, cmp.AllowUnexported(config{}, optional{})); d != "" {
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
