package persistence

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// FuzzStateFile checks that a file is either refused or restored, and that a
// restored state can be saved and then restored again.
func FuzzStateFile(f *testing.F) {
	for _, seed := range []string{
		`{"version":3,"lastInstance":0,"instances":[],"lastLoadBalancer":0,"loadBalancers":[],"lastStaticIP":0,"staticIPs":[],"lastRoute":0,"routes":[]}`,
		`{"version":1,"lastInstance":1,"instances":[{"id":"i-00000001","name":"node-1","region":"r","state":"running","addresses":[],"created":"2026-01-01T00:00:00Z"}]}`,
		`{"version":3,"lastRoute":1,"routes":[{"id":"rt-00000001","name":"a","destination":"10.0.0.0/8","state":"active","created":"2026-01-01T00:00:00Z"}]}`,
		`{"version":3,"lastStaticIP":1,"staticIPs":[{"id":"ip-00000001","name":"a","address":"127.64.1.1","created":"2026-01-01T00:00:00Z"}]}`,
		`{"version":3,"lastLoadBalancer":1,"loadBalancers":[{"id":"lb-00000001","name":"a","state":"active","address":"127.64.1.1","listeners":[{"protocol":"TCP","port":1,"backendPort":1}],"backends":[],"sourceRanges":["0.0.0.0/0"],"created":"2026-01-01T00:00:00Z"}]}`,
		`{"version":4,"lastVolume":1,"volumes":[{"id":"vol-00000001","name":"a","zones":["z"],"region":"r","created":"2026-01-01T00:00:00Z"}]}`,
		`{"version":3,"instances":[null]}`, `{"version":5}`, `{"version":3,"lastInstance":-1}`, `{"version":3,"lastInstance":9223372036854775807}`, `{}`, ``, `{"version":3}x`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file := At(filepath.Join(t.TempDir(), "cloud.json"))
		if err := os.WriteFile(file.path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if !restores(t, file) {
			return
		}
		// The first change writes the whole file again.
		store := state.New(state.Config{Clock: clock.RealClock{}, Save: file.Save})
		saved, err := file.Load()
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Restore(*saved); err != nil {
			t.Fatal(err)
		}
		if _, err := store.CreateInstance(t.Context(), wire.Instance{Name: "new"}); err != nil {
			t.Fatal(err)
		}
		if !restores(t, file) {
			t.Fatalf("%s was restored and saved, but the saved file is refused", content)
		}
	})
}

func restores(t *testing.T, file File) bool {
	t.Helper()
	saved, err := file.Load()
	if err != nil {
		return false
	}
	return state.New(state.Config{Clock: clock.RealClock{}}).Restore(*saved) == nil
}
