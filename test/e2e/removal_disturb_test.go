package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
	"github.com/fairlead-k8s/fairlead/test/internal/replicas"
	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

// interruptible is the time for which an instance has to be absent in some tests.
// These tests interrupt the daemon before it deletes the Node. They have half of this time
// to do so.
const interruptible = 30 * time.Second

// deletes matches the daemon's deletions of Nodes.
func deletes(r proxy.Request) bool {
	return r.Method == http.MethodDelete && strings.HasPrefix(r.Path, "/api/v1/nodes/")
}

// again replaces a Node: it deletes the Node by hand, and registers another Node with the
// same name.
func again(t *testing.T, p *nodepool.Pool, m *nodepool.Member, i simulator.Instance, ready corev1.ConditionStatus) *nodepool.Member {
	t.Helper()
	p.ByHand(t, m)
	node := nodes.NewInitialized(i)
	node.Name = m.Name
	node.Status.Conditions[0].Status = ready
	return p.Join(t, node, i)
}

// testRecreatedMeanwhile: answers about the first Node are not evidence against the
// second Node with that name. This is true even in the hardest case: both have the
// same provider ID, the second is silent from the start, and the daemon sees the
// deletion and the creation at once.
func testRecreatedMeanwhile(t *testing.T, b *bed.Bed) {
	p := nodepool.New(t, b, 6)
	first := p.Members[2]
	d := p.Runs(t, daemon.Setup{Flags: nodepool.AbsentAfter(interruptible)})
	p.Terminate(t, first)
	p.Silence(t, first)
	p.AwaitAbsences(t, nodepool.Absences-1, first)
	d.Signal(syscall.SIGSTOP)
	second := again(t, p, first, first.Instance, corev1.ConditionUnknown)
	second.Rules.AbsentFor = interruptible
	d.Signal(syscall.SIGCONT)
	p.AwaitGone(t, nodepool.GoneWithin, second) // This deletion too needs evidence of its own.
	for _, r := range p.Deletions(t) {
		if uid, _ := nodepool.Preconditions(r); uid == first.UID {
			t.Errorf("a deletion of the first Node: %v", r)
		}
	}
}

// testChangedOnTheWay: a deletion that has already been sent does not delete a Node
// that has changed in the meantime.
func testChangedOnTheWay(t *testing.T, b *bed.Bed) {
	for _, row := range []struct {
		name string
		// change changes the Node or replaces it. It returns the member whose Node must
		// not be deleted.
		change func(*nodepool.Pool, *testing.T, *nodepool.Member) *nodepool.Member
	}{
		{"Recreated", func(p *nodepool.Pool, t *testing.T, m *nodepool.Member) *nodepool.Member {
			return again(t, p, m, p.Instance(t, simulator.Instance{Name: m.Name}), corev1.ConditionTrue)
		}},
		{"ReadyAgain", func(p *nodepool.Pool, t *testing.T, m *nodepool.Member) *nodepool.Member {
			p.Wake(t, m)
			return m
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := nodepool.New(t, b, 6)
			m := p.Members[2]
			api := b.BeforeAPIServer(t)
			trap := api.Trap(deletes, 1, proxy.Before)
			p.Runs(t, daemon.Setup{API: api, Cloud: p.Cloud.URL, Flags: nodepool.Quickly()})
			p.Terminate(t, m)
			p.Silence(t, m)
			if !timeout.Closed(nodepool.GoneWithin, trap.Sprung()) {
				t.Fatal("nothing is deleted")
			}
			now := row.change(p, t, m)
			trap.Release()
			expect.Within(t, expect.Soon, func(context.Context) error {
				if len(p.Deletions(t)) == 0 {
					return errors.New("the deletion has not come")
				}
				return nil
			})
			p.Stay(t, now)
			// The daemon still works: it deletes the Node later, when the kubelet is silent and
			// the instance is gone.
			p.Terminate(t, now)
			p.Silence(t, now)
			p.AwaitGone(t, nodepool.GoneWithin, now)
		})
	}
}

// testRestartsMeanwhile: the API server is killed when a deletion is on its way.
func testRestartsMeanwhile(t *testing.T, b *bed.Bed) {
	p := nodepool.New(t, b, 8)
	api := b.BeforeAPIServer(t)
	trap := api.Trap(deletes, 1, proxy.Before)
	d := p.Runs(t, daemon.Setup{API: api, Cloud: p.Cloud.URL, Flags: nodepool.Quickly()})
	gone := p.Members[:2]
	p.Terminate(t, gone...)
	p.Silence(t, gone...)
	if !timeout.Closed(nodepool.GoneWithin, trap.Sprung()) {
		t.Fatal("nothing is deleted")
	}
	b.RestartAPIServer(t, trap)
	expect.Within(t, time.Minute, func(ctx context.Context) error {
		_, err := b.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err
	})
	p.AwaitGone(t, 2*time.Minute, gone...)
	p.Stay(t, p.Members[2:]...)
	if d.Ended() {
		t.Errorf("the daemon has ended with code %d", d.Code())
	}
}

// The leader is killed while it gathers evidence. The next leader starts without
// evidence. No Node is deleted twice, and the evidence of the first leader does not count
// for the next one.
func TestLeaderIsKilledWhileEvidenceIsGathered(t *testing.T) {
	b := onOwn(t)
	p := nodepool.New(t, b, 12)
	for _, m := range p.Members {
		m.Rules.AbsentFor = interruptible
	}
	p.Begun = append(p.Begun, time.Now())
	leader, standby := replicas.Pair(t, b, p.Cloud, daemon.Setup{Flags: nodepool.AbsentAfter(interruptible)})
	gone, alive := p.Members[:3], p.Members[3]
	p.Terminate(t, gone...)
	p.Silence(t, append(slices.Clone(gone), alive)...)
	p.AwaitAbsences(t, nodepool.Absences-1, gone...)
	leader.Kill()
	died := time.Now()
	p.Begun = append(p.Begun, died)
	p.AwaitGone(t, crashHandOver+nodepool.GoneWithin, gone...)
	t.Logf("the Nodes were gone %v after the leader was killed", time.Since(died).Round(time.Second))
	p.Stay(t, p.Members[3:]...)
	deleted := map[string]bool{} // A deletion is repeated if the Node has changed since it was read.
	for _, r := range standby.API.Requests(deletes) {
		deleted[r.Path] = true
	}
	if len(deleted) != len(gone) {
		t.Errorf("the next leader has deleted %d Nodes, want %d", len(deleted), len(gone))
	}
	noOverlap(t, leader, standby)
}

// The daemon is killed at each request of a deletion, before the API server gets
// the request, and after it has carried out the request. The next daemon deletes
// the Node with evidence of its own (S7).
func TestKilledAtEachRequestOfADeletion(t *testing.T) {
	const absentFor = 2 * time.Second
	b := onOwn(t)
	p := nodepool.New(t, b, 30)
	for _, m := range p.Members {
		m.Rules.AbsentFor = absentFor
	}
	flags := nodepool.AbsentAfter(absentFor)
	next := 0
	// dies terminates the instance of a Node. It returns the Node, a proxy in front of
	// the API server, and a function that matches the daemon's requests about the Node.
	dies := func(t *testing.T) (m *nodepool.Member, api *proxy.Proxy, match proxy.Match) {
		t.Helper()
		m, next = p.Members[next], next+1
		p.Terminate(t, m)
		p.Silence(t, m)
		return m, b.BeforeAPIServer(t), func(r proxy.Request) bool {
			return strings.HasSuffix(r.Path, "/nodes/"+m.Name) || strings.HasSuffix(r.Path, "/events")
		}
	}
	m, api, match := dies(t)
	d := p.Runs(t, daemon.Setup{API: api, Cloud: p.Cloud.URL, Flags: flags})
	p.AwaitGone(t, nodepool.GoneWithin, m)
	p.AwaitTold(t, expect.Soon, []*nodepool.Member{m}, "Normal DeletingNode")
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	all := proxy.PlacesOf(api.Requests(match))
	t.Logf("a deletion makes %d requests: %v", len(all), all)
	for _, place := range all {
		for at, point := range map[proxy.Point]string{proxy.Before: "Before", proxy.After: "After"} {
			t.Run(fmt.Sprintf("%s/%s", place, point), func(t *testing.T) {
				m, api, match := dies(t)
				trap := api.TrapPlace(match, place, at)
				first := p.Runs(t, daemon.Setup{API: api, Cloud: p.Cloud.URL, Flags: flags})
				bed.AwaitPlace(t, trap, place)
				first.Kill()
				trap.Cut()
				p.Runs(t, daemon.Setup{Cloud: p.Cloud.URL, Flags: flags})
				p.AwaitGone(t, nodepool.GoneWithin, m)
			})
		}
	}
}
