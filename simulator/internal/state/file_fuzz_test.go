package state

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// FuzzStateFile checks that a file is either refused or restored, and that a
// restored state can be saved and then restored again.
func FuzzStateFile(f *testing.F) {
	for _, seed := range []string{
		`{"version":5}`,
		`{"version":5,"instances":{"last":1,"items":[{"id":"i-00000001","name":"node-1","region":"r","state":"running","addresses":[],"created":"2026-01-01T00:00:00Z"}]}}`,
		`{"version":5,"routes":{"last":1,"items":[{"id":"rt-00000001","name":"a","destination":"10.0.0.0/8","state":"active"}]}}`,
		`{"version":5,"staticIPs":{"last":1,"items":[{"id":"ip-00000001","name":"a","address":"127.64.1.1"}]}}`,
		`{"version":5,"loadBalancers":{"last":1,"items":[{"id":"lb-00000001","name":"a","state":"active","address":"127.64.1.1","listeners":[{"protocol":"TCP","port":1,"backendPort":1}],"backends":[],"sourceRanges":["0.0.0.0/0"]}]}}`,
		`{"version":5,"volumes":{"last":1,"items":[{"id":"vol-00000001","name":"a","zones":["z"],"region":"r"}]}}`,
		`{"version":5,"instances":{"items":[null]}}`, `{"version":4}`, `{"version":5,"instances":{"last":-1}}`, `{"version":5,"instances":{"last":9223372036854775807}}`, `{}`, ``, `{"version":5}x`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file := filepath.Join(t.TempDir(), "cloud.json")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		store, err := New(Config{Clock: clock.RealClock{}, File: file})
		if err != nil {
			return
		}
		// The first change writes the whole file again.
		if _, err := store.CreateInstance(t.Context(), wire.Instance{Name: "new"}); err != nil {
			t.Fatal(err)
		}
		if _, err := New(Config{Clock: clock.RealClock{}, File: file}); err != nil {
			t.Fatalf("%s was restored and saved, but the saved file is refused: %v", content, err)
		}
	})
}
