package ipam

import (
	"flag"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

var fleet = flag.Int("fleet", 200, "how many Nodes TestLeadersThatDieAtEachWrite has")

// succeed returns the next leader. Its cache has all Nodes, like the cache of an
// informer after its first list.
func (w *world) succeed() *leader {
	l := w.candidate()
	for name, node := range w.nodes {
		l.cache[name] = node
		l.controller.onNode(name, nil, node)
	}
	l.seen = len(w.history)
	l.begin()
	return l
}

// waiting returns the names of the Nodes that have no CIDRs.
func (w *world) waiting() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		if len(w.nodes[name].Spec.PodCIDRs) == 0 {
			all = append(all, name)
		}
	}
	return all
}

// The first leader dies during its first write, the next one during its second, and
// so on. The write is refused, is carried out without a reply, or arrives at any
// later time. So for each write of a fence or of CIDRs, there is a leader that dies
// during the write. In the end all Nodes have CIDRs, and no two have the same.
func TestLeadersThatDieAtEachWrite(t *testing.T) {
	size := bits.Len(uint(*fleet)) // One CIDR is reserved.
	w := &world{
		t: t, luck: rand.New(rand.NewPCG(*seed, 0)), clock: clocktesting.NewFakeClock(noon),
		nodes: map[string]*corev1.Node{}, given: map[types.UID][]string{},
		families: []Family{family(fmt.Sprintf("10.0.0.0/%d", 32-size), 32), family(fmt.Sprintf("fd00::/%d", 64-size), 64)},
		reserved: cidrs("10.0.0.0/32", "fd00::/64"),
	}
	for n := range *fleet {
		name := fmt.Sprintf("n%04d", n)
		w.store(name, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("u-" + name), CreationTimestamp: metav1.NewTime(w.clock.Now()),
		}})
	}
	leaders := 0
	for waiting := w.waiting(); len(waiting) > 0; waiting = w.waiting() {
		w.steps = nil
		l := w.succeed()
		if leaders++; leaders > 2**fleet {
			w.fail("%d of %d Nodes have no CIDRs after %d leaders", len(waiting), *fleet, leaders)
		}
		l.dies = leaders
		for n := 0; n < 4*len(waiting) && l.writes < l.dies; n++ {
			if n%len(waiting) == 0 {
				w.clock.Step(longWait) // Each leader waits this long to find out whether there are other allocators.
			}
			w.pass(l, waiting[n%len(waiting)])
		}
		if n := len(w.sent); n > 0 && w.luck.IntN(2) == 0 {
			k := w.luck.IntN(n)
			arrives := w.sent[k]
			w.sent = slices.Delete(w.sent, k, k+1)
			arrives()
		}
	}
	t.Logf("%d leaders gave CIDRs to %d Nodes", leaders, *fleet)
	w.rest(w.succeed())
}
