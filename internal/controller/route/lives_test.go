package route

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestRandomLives creates, deletes and replaces Nodes while the cloud fails in many
// ways, and compares the table with the Nodes at the end. checkRemoval checks each
// removal on the way.
func TestRandomLives(t *testing.T) {
	lives := 60
	if testing.Short() {
		lives = 10
	}
	for seed := range lives {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomSteps(t, uint64(seed)) }) // seed is not negative
		})
	}
}

func randomSteps(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(1, seed))    // the test has to be repeatable
	luck := rand.New(rand.NewPCG(2, seed)) // for the cloud; guarded by mu, because calls to the cloud are concurrent
	b := prepare(t, Config{Limits: Limits{StrayFor: 30 * time.Second, BudgetRoutes: 100, OverBudgetAfter: time.Hour}})
	foreign := []string{"10.9.0.0/24 gone", "10.244.0.0/15 gone", "10.244.250.0/24 ", "nonsense gone"}
	b.locked(func() {
		b.tables = 1 + r.IntN(2)
		for _, f := range foreign {
			cidr, node, _ := strings.Cut(f, " ")
			b.addRoute(node, cidr)
		}
		for i := range 3 {
			for range b.tables {
				b.addEntry("gone", fmt.Sprintf("10.244.%d.0/24", 200+i)).stray = time.Now()
			}
		}
		b.lag = time.Duration(r.IntN(20)) * time.Second
		b.fail = func(string) error {
			if luck.IntN(5) == 0 {
				return errors.New("no")
			}
			return nil
		}
		b.lose = func(call string) bool { return call != "list" && luck.IntN(10) == 0 }
	})
	b.start()
	there := map[int]*corev1.Node{}
	for step := range 40 {
		i := 1 + r.IntN(8)
		switch n := there[i]; {
		case n == nil:
			n = bare(i)
			n.UID = types.UID(fmt.Sprintf("uid-%d-%d", i, step))
			if r.IntN(3) == 0 { // with a CIDR that another Node might have had
				n.Spec.PodCIDRs = []string{fmt.Sprintf("10.244.%d.0/24", 1+r.IntN(8))}
			}
			if slices.ContainsFunc(b.nodes(), func(o corev1.Node) bool { return slices.Equal(o.Spec.PodCIDRs, n.Spec.PodCIDRs) }) {
				continue
			}
			there[i] = n
			b.createNode(n)
		case r.IntN(2) == 0:
			delete(there, i)
			b.deleteNode(n.Name)
		}
		if r.IntN(10) == 0 {
			b.stop()
			b.start()
		}
		b.after(time.Duration(r.IntN(8000)) * time.Millisecond)
	}
	b.locked(func() {
		b.fail, b.lose = func(string) error { return nil }, func(string) bool { return false }
		// A new leader does not know which deletions the last one saw.
		for _, e := range b.table {
			if e.stray.IsZero() {
				e.stray = time.Now()
			}
		}
	})
	b.after(10 * time.Minute)
	defer b.stop()
	want := slices.Clone(foreign)
	names := map[string]bool{}
	for _, n := range there {
		want = append(want, n.Spec.PodCIDRs[0]+" "+n.Name)
		names[n.Name] = true
	}
	got := slices.DeleteFunc(b.routes(), func(route string) bool {
		// A Node keeps the route of an earlier Node with the same name if the deletion
		// of the earlier Node was not seen. Such routes are left out.
		_, node, _ := strings.Cut(route, " ")
		return names[node] && !slices.Contains(want, route)
	})
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	b.locked(func() { b.calls, b.events, b.writes = nil, nil, nil })
	b.after(10 * time.Minute)
	b.expect("at the end", nil, nil, nil)
}
