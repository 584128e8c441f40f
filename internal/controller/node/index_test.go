package node

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// After any sequence of changes, the index has the Nodes that a search through all
// Nodes finds.
func TestIndexIsAWalk(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		i, nodes := newIndex(), map[string]bool{}
		for range 200 {
			name, refreshed := fmt.Sprint("n", random.IntN(20)), random.IntN(2) == 0
			i.set(name, refreshed)
			nodes[name] = refreshed
			maps.DeleteFunc(nodes, func(_ string, refreshed bool) bool { return !refreshed })
			names := slices.Sorted(maps.Keys(nodes))
			half, more := i.page("", len(names)/2+1)
			if len(half) != min(len(names), len(names)/2+1) || more != (len(names) > len(half)) {
				t.Fatalf("seed %d: page %v of %v, more %v", seed, half, names, more)
			}
			if diff := cmp.Diff(names, i.all(), cmpopts.EquateEmpty()); diff != "" || i.refreshes() != len(names) {
				t.Fatalf("seed %d: %d are refreshed (-walk +index):\n%s", seed, i.refreshes(), diff)
			}
		}
	}
}
