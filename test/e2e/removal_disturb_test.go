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
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

// deletes are the daemon's deletions of Nodes.
func deletes(r proxy.Request) bool {
	return r.Method == http.MethodDelete && strings.HasPrefix(r.Path, "/api/v1/nodes/")
}

// again registers a Node of the same name after the first has been deleted by
// hand.
func (p *pool) again(t *testing.T, m *member, i simulator.Instance, ready corev1.ConditionStatus) *member {
	t.Helper()
	p.byHand(t, m)
	node := nodes.NewInitialized(i)
	node.Name = m.Name
	node.Status.Conditions[0].Status = ready
	return p.join(t, node, i)
}

// testRecreatedMeanwhile: answers about the first Node are no evidence against
// the second one of that name. This also holds if both have the same provider
// ID, the second is silent from the start, and the daemon sees both events at
// once.
func testRecreatedMeanwhile(t *testing.T, b *bed.Bed) {
	p := newPool(t, b, 6)
	first := p.members[2]
	d := p.runs(t, daemon.Setup{Flags: quickly()})
	p.terminate(t, first)
	p.silence(t, first)
	p.awaitAsked(t, absences-1, first)
	d.Signal(syscall.SIGSTOP)
	second := p.again(t, first, first.instance, corev1.ConditionUnknown)
	d.Signal(syscall.SIGCONT)
	p.awaitGone(t, goneWithin, second) // This deletion too needs evidence of its own.
	for _, r := range p.deletions(t) {
		if uid, _ := preconditions(r); uid == first.UID {
			t.Errorf("a deletion of the first Node: %v", r)
		}
	}
}

// testChangedOnTheWay: a deletion that is already sent does not delete a Node
// that has changed in the meantime.
func testChangedOnTheWay(t *testing.T, b *bed.Bed) {
	for _, row := range []struct {
		name string
		// change changes the Node and returns what must stay.
		change func(*pool, *testing.T, *member) *member
	}{
		{"Recreated", func(p *pool, t *testing.T, m *member) *member {
			return p.again(t, m, p.instance(t, simulator.Instance{Name: m.Name}), corev1.ConditionTrue)
		}},
		{"ReadyAgain", func(p *pool, t *testing.T, m *member) *member {
			p.wake(t, m)
			return m
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newPool(t, b, 6)
			m := p.members[2]
			api := b.BeforeAPIServer(t)
			trap := api.Trap(deletes, 1, proxy.Before)
			p.runs(t, daemon.Setup{API: api, Cloud: p.cloud.URL, Flags: quickly()})
			p.terminate(t, m)
			p.silence(t, m)
			select {
			case <-trap.Sprung():
			case <-time.After(goneWithin):
				t.Fatal("nothing is deleted")
			}
			now := row.change(p, t, m)
			trap.Release()
			expect.Within(t, expect.Soon, func(context.Context) error {
				if len(p.deletions(t)) == 0 {
					return errors.New("the deletion has not come")
				}
				return nil
			})
			p.stay(t, now)
			// The daemon goes on: when this one is silent and gone, it is deleted.
			p.terminate(t, now)
			p.silence(t, now)
			p.awaitGone(t, goneWithin, now)
		})
	}
}

// testRestartsMeanwhile: the API server is killed when a deletion is on its way.
func testRestartsMeanwhile(t *testing.T, b *bed.Bed) {
	p := newPool(t, b, 8)
	api := b.BeforeAPIServer(t)
	trap := api.Trap(deletes, 1, proxy.Before)
	d := p.runs(t, daemon.Setup{API: api, Cloud: p.cloud.URL, Flags: quickly()})
	gone := p.members[:2]
	p.terminate(t, gone...)
	p.silence(t, gone...)
	select {
	case <-trap.Sprung():
	case <-time.After(goneWithin):
		t.Fatal("nothing is deleted")
	}
	b.RestartAPIServer(t, trap)
	expect.Within(t, time.Minute, func(ctx context.Context) error {
		_, err := b.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err
	})
	p.awaitGone(t, 2*time.Minute, gone...)
	p.stay(t, p.members[2:]...)
	if d.Ended() {
		t.Errorf("the daemon has ended with code %d", d.Code())
	}
}

// The leader is killed while it gathers evidence. The next one starts without
// evidence: no Node is deleted twice, nor on evidence of both leaders together.
func TestLeaderIsKilledWhileEvidenceIsGathered(t *testing.T) {
	b := onOwn(t)
	p := newPool(t, b, 12)
	p.begun = append(p.begun, time.Now())
	leader, standby := pairOfReplicas(t, b, p.cloud, daemon.Setup{Flags: quickly()})
	gone, alive := p.members[:3], p.members[3]
	p.terminate(t, gone...)
	p.silence(t, append(slices.Clone(gone), alive)...)
	p.awaitAsked(t, absences-1, gone...)
	leader.Kill()
	died := time.Now()
	p.begun = append(p.begun, died)
	p.awaitGone(t, crashHandOver+goneWithin, gone...)
	t.Logf("the Nodes were gone %v after the leader was killed", time.Since(died).Round(time.Second))
	p.stay(t, p.members[3:]...)
	if n := len(standby.api.Requests(deletes)); n != len(gone) {
		t.Errorf("the next leader has made %d deletions, want %d", n, len(gone))
	}
	noOverlap(t, leader, standby)
}

// The daemon is killed at each request of a deletion, before the API server
// has it and after it is carried out. The next daemon brings the Node to the
// same end, with evidence of its own (S7).
func TestKilledAtEachRequestOfADeletion(t *testing.T) {
	const absentFor = 2 * time.Second
	b := onOwn(t)
	p := newPool(t, b, 30)
	for _, m := range p.members {
		m.rules.absentFor = absentFor
	}
	flags := absentAfter(absentFor)
	next := 0
	// dies is a Node whose instance is gone, and the requests that are made for it.
	dies := func(t *testing.T) (m *member, api *proxy.Proxy, match proxy.Match) {
		t.Helper()
		m, next = p.members[next], next+1
		p.terminate(t, m)
		p.silence(t, m)
		return m, b.BeforeAPIServer(t), func(r proxy.Request) bool {
			return strings.HasSuffix(r.Path, "/nodes/"+m.Name) || strings.HasSuffix(r.Path, "/events")
		}
	}
	m, api, match := dies(t)
	d := p.runs(t, daemon.Setup{API: api, Cloud: p.cloud.URL, Flags: flags})
	p.awaitGone(t, goneWithin, m)
	p.awaitTold(t, expect.Soon, []*member{m}, "Normal DeletingNode")
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
				first := p.runs(t, daemon.Setup{API: api, Cloud: p.cloud.URL, Flags: flags})
				bed.AwaitPlace(t, trap, place)
				first.Kill()
				trap.Cut()
				p.runs(t, daemon.Setup{Cloud: p.cloud.URL, Flags: flags})
				p.awaitGone(t, goneWithin, m)
			})
		}
	}
}
