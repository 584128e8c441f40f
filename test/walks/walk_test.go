package walks_test

import (
	"flag"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/ipam"
	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodelifecycle"
	"github.com/fairlead-k8s/fairlead/internal/controller/route"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
)

var (
	paths = flag.Int("paths", 0, "how many paths a test takes; 0 means 30 with -short, otherwise 300")
	seed  = flag.Uint64("seed", 0, "the seed of the first path")
)

// TestWalk runs random sequences of events (paths) in the lives of Services and Nodes. In
// each path, the provider has random quirks. The test checks the promises during the
// path, whenever the cloud works again, and at the end. If a path fails, the test prints
// the path and its seed. Goroutines can run in another order the next time. So a race may
// need several runs: go test ./test/walks -seed=N -paths=1 -count=20
func TestWalk(t *testing.T) { takePaths(t, walk) }

// reached has the reasons of events and conditions that the paths of all tests have reached.
var reached = map[string]bool{}

// takePaths takes as many random paths as the flags say, and logs which reasons of events
// and conditions no path has reached so far.
func takePaths(t *testing.T, take func(t *testing.T, seed uint64) *world) {
	t.Helper()
	count := *paths
	switch {
	case count > 0:
	case testing.Short():
		count = 30
	default:
		count = 300
	}
	for i := range uint64(count) { // count is not negative
		t.Run(strconv.FormatUint(*seed+i, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { maps.Copy(reached, take(t, *seed+i).reached) })
		})
	}
	never := map[string]bool{}
	for _, r := range slices.Concat(node.Reasons(), nodelifecycle.Reasons(), service.Reasons(), route.Reasons(), ipam.Reasons()) {
		if !reached[r.Name] {
			never[r.Name] = true
		}
	}
	t.Logf("%d reasons are reached, never: %s", len(reached), strings.Join(slices.Sorted(maps.Keys(never)), ", "))
}

// walk runs the random path that the seed selects.
func walk(t *testing.T, seed uint64) *world {
	t.Helper()
	w := newWorld(t, seed)
	w.populate()
	w.start()
	const sections, steps = 2, 14
	for range sections {
		for range 1 + w.r.IntN(steps) {
			if !w.hasFailed() {
				w.something()
			}
		}
		if !w.hasFailed() {
			w.rests()
		}
	}
	if !w.hasFailed() {
		w.ends()
	}
	w.finish()
	return w
}

// finish stops the daemon. If the path has failed, it prints the path.
func (w *world) finish() {
	if w.stop != nil {
		w.stop()
	}
	time.Sleep(time.Minute) // A call to the provider may still wait for a timer, and no time passes once the test has returned.
	if name, seed, _ := strings.Cut(w.t.Name(), "/"); w.t.Failed() {
		w.t.Logf("to repeat it: go test ./test/walks -run '^%s$' -seed=%s -paths=1\n%s", name, seed, strings.Join(w.path, "\n"))
	}
}
