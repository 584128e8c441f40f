package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/e2e/proxy"
)

const (
	// What promise S7 means at default flags.
	plannedHandOver = 6 * time.Second
	crashHandOver   = 24 * time.Second
	drain           = 8 * time.Second
	// noise is what a busy machine may add. The times themselves are logged.
	noise = 6 * time.Second

	leaseName = "cloud-controller-manager"
)

// replica is a daemon that stands in an election with default flags, and all
// that it says to the API server and to the cloud.
type replica struct {
	*daemon

	api, cloud *proxy.Proxy
	lease      string
}

// pairOfReplicas starts two, the leader first.
func (b *bed) pairOfReplicas(t *testing.T, c *cloud, s setup) (leader, standby replica) {
	t.Helper()
	s.lease = cmp.Or(s.lease, leaseName)
	err := b.admin.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(t.Context(), s.lease, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	var pair [2]replica
	for n := range pair {
		r := b.replica(t, c, s)
		pair[n] = r
		await(t, soon, func(context.Context) error {
			switch {
			case n == 0 && !r.leads():
				return errors.New("the first replica does not lead")
			case n == 1 && len(r.api.Requests(ofLeases)) == 0:
				return errors.New("the second replica has not looked at the lease")
			}
			return nil
		})
	}
	return pair[0], pair[1]
}

// replica starts one more.
func (b *bed) replica(t *testing.T, c *cloud, s setup) replica {
	t.Helper()
	r := replica{api: b.apiProxy(t), cloud: proxyOf(t, c), lease: s.lease}
	s.api, s.cloud, s.elect = r.api, r.cloud.URL(), true
	r.daemon = b.daemon(t, s)
	return r
}

func (r replica) leads() bool { return r.says("Controller runs") }

func ofLeases(r proxy.Request) bool { return strings.Contains(r.Path, "/leases") }

// holder is who has the lease, by the identity in it.
func (b *bed) holder(t *testing.T, name string) string {
	t.Helper()
	lease, err := b.admin.CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// joins adds a Node and waits until it is initialised.
func (b *bed) joins(t *testing.T, c *cloud, within time.Duration) {
	t.Helper()
	i, node := b.pair(t, c, simulator.Instance{Name: b.name("joins")})
	b.awaitNode(t, node.Name, within, is(i, stated(i)...))
}

// Of two replicas one works. When it is asked to end it gives the lease back,
// and the other one works soon.
func TestRollingRestart(t *testing.T) {
	b := onShared(t)
	cloud := b.bareCloud(t)
	leader, standby := b.pairOfReplicas(t, cloud, setup{})
	b.joins(t, cloud, soon)
	if n := len(standby.api.Requests(patches)) + len(standby.api.Requests(records)) + len(standby.cloud.Requests(nil)); n > 0 {
		t.Errorf("the standby has written or asked the cloud %d times", n)
	}
	before := b.holder(t, leaseName)

	asked := time.Now()
	leader.Signal(syscall.SIGTERM)
	if code := leader.exited(t, plannedHandOver+noise); code != 0 {
		t.Errorf("the leader has ended with code %d after SIGTERM, want 0", code)
	}
	if now := b.holder(t, leaseName); now == before {
		t.Errorf("the lease is still held by %s, who has ended", now)
	}
	ended := time.Since(asked)
	b.joins(t, cloud, plannedHandOver+noise)
	took := time.Since(asked)
	t.Logf("planned hand-over: the leader ended after %v, a Node was initialised by the other after %v", ended.Round(time.Millisecond), took.Round(time.Millisecond))
	if took > plannedHandOver+noise {
		t.Errorf("the hand-over took %v, want %v", took, plannedHandOver)
	}
}

func TestLeaderIsKilled(t *testing.T) {
	b := onShared(t)
	cloud := b.bareCloud(t)
	leader, _ := b.pairOfReplicas(t, cloud, setup{})
	b.joins(t, cloud, soon)

	died := time.Now()
	leader.Kill()
	b.joins(t, cloud, crashHandOver+noise)
	took := time.Since(died)
	t.Logf("hand-over after kill -9: a Node was initialised by the other after %v", took.Round(time.Millisecond))
	if took > crashHandOver+noise {
		t.Errorf("the hand-over took %v, want %v", took, crashHandOver)
	}
}

// A provider that ignores its context is waited for, but not for ever. What it
// was asked changes nothing, so the lease is given back.
func TestHandOverWithADeafProvider(t *testing.T) {
	b := onShared(t)
	cloud := b.bareCloud(t)
	leader, standby := b.pairOfReplicas(t, cloud, setup{program: testCCM, provider: "modern"})
	i, node := b.pair(t, cloud, simulator.Instance{Name: b.name("deaf"), Labels: map[string]string{"provider-fault": "deaf"}})
	await(t, soon, func(context.Context) error {
		if !leader.says("Deaf from now on", node.Name) {
			return errors.New("the provider has not been asked")
		}
		return nil
	})
	before := b.holder(t, leaseName)

	asked := time.Now()
	leader.Signal(syscall.SIGTERM)
	leader.exited(t, drain+noise)
	ended := time.Since(asked)
	if now := b.holder(t, leaseName); now == before {
		t.Errorf("the lease is still held by %s, who has ended", now)
	}
	b.joins(t, cloud, plannedHandOver+noise)
	t.Logf("hand-over with a deaf provider: the leader ended after %v, the other worked after %v",
		ended.Round(time.Millisecond), time.Since(asked).Round(time.Millisecond))

	cloud.change(t, i, simulator.InstancePatch{Labels: map[string]*string{"provider-fault": nil}})
	i.Labels = nil
	b.awaitNode(t, node.Name, 2*time.Minute, is(i, stated(i)...))
	noOverlap(t, leader, standby)
}

// A write that is under way when the leader is asked to end is waited for: the
// lease stays until it is over.
func TestHandOverWaitsForTheWriteUnderWay(t *testing.T) {
	b := onShared(t)
	cloud := b.bareCloud(t)
	leader, standby := b.pairOfReplicas(t, cloud, setup{})
	trap := leader.api.Trap(patches, 1, proxy.Before)
	i, node := b.pair(t, cloud, simulator.Instance{Name: b.name("held")})
	sprung(t, trap)
	b.handsOverAfter(t, leader, standby, trap)
	b.awaitNode(t, node.Name, plannedHandOver+noise, is(i, stated(i)...))
	noOverlap(t, leader, standby)
}

// handsOverAfter asks the leader to end while a request of its is trapped: the
// lease stays until the request is released and over.
func (b *bed) handsOverAfter(t *testing.T, leader, standby replica, trap *proxy.Trap) {
	t.Helper()
	before := b.holder(t, leader.lease)
	looked := len(standby.api.Requests(ofLeases))
	asked := time.Now()
	leader.Signal(syscall.SIGTERM)
	await(t, soon, func(context.Context) error { // until it would have taken over
		if n := len(standby.api.Requests(ofLeases)); n < looked+2 && time.Since(asked) < drain-time.Second {
			return fmt.Errorf("the standby has looked at the lease %d times", n-looked)
		}
		return nil
	})
	if now := b.holder(t, leader.lease); now != before {
		t.Errorf("the lease was given away, to %q, while a write of the leader was under way", now)
	}
	trap.Release()
	if code := leader.exited(t, drain+noise); code != 0 {
		t.Errorf("the leader has ended with code %d, want 0", code)
	}
	if now := b.holder(t, leader.lease); now == before {
		t.Errorf("the lease is still held by %s, who has ended", now)
	}
}

// A write that is never over is not waited for longer than the drain allows;
// but then the lease is not given back, and the other waits until it expires.
func TestWriteThatIsNeverOverKeepsTheLease(t *testing.T) {
	b := onShared(t)
	cloud := b.bareCloud(t)
	leader, standby := b.pairOfReplicas(t, cloud, setup{})
	trap := leader.api.Trap(patches, 1, proxy.Before)
	i, node := b.pair(t, cloud, simulator.Instance{Name: b.name("stuck")})
	sprung(t, trap)
	asked := time.Now()
	b.keepsTheLease(t, leader, standby)
	ended := time.Since(asked)
	trap.Cut() // The process has ended, and so have its connections.
	b.awaitNode(t, node.Name, crashHandOver+noise, is(i, stated(i)...))
	t.Logf("a write that is never over: the leader ended after %v, the other had initialised the Node after %v",
		ended.Round(time.Millisecond), time.Since(asked).Round(time.Millisecond))
	noOverlap(t, leader, standby)
}

// keepsTheLease asks the leader to end while it does something that is not over
// in time: it ends, and the lease stays its.
func (b *bed) keepsTheLease(t *testing.T, leader, standby replica) {
	t.Helper()
	before := b.holder(t, leader.lease)
	leader.Signal(syscall.SIGTERM)
	code := leader.exited(t, drain+noise)
	if now := b.holder(t, leader.lease); now != before {
		t.Errorf("the lease was given away, to %q, while a write of the leader was under way", now)
	}
	if code == 0 {
		t.Error("the leader has ended with code 0, though work was under way")
	}
	if n := len(standby.api.Requests(mutations)) + len(standby.cloud.Requests(ofBalancerChanges)); n > 0 {
		t.Errorf("the standby has made %d writes beside the one under way", n)
	}
}

// mutations are what is written to the API server, but for events and leases.
func mutations(r proxy.Request) bool {
	return r.Method != http.MethodGet && (strings.HasPrefix(r.Path, "/api/v1/nodes") || strings.Contains(r.Path, "/services/"))
}

// noOverlap looks at all writes of both: at no time do two replicas have one
// of the same object under way (S7). All load balancers are one object.
func noOverlap(t *testing.T, a, b replica) {
	t.Helper()
	pairs := func(x, y []proxy.Request, object func(proxy.Request) string) {
		for _, x := range x {
			for _, y := range y {
				if object(x) != object(y) || !y.Ended.IsZero() && y.Ended.Before(x.Began) || !x.Ended.IsZero() && x.Ended.Before(y.Began) {
					continue
				}
				t.Errorf("S7: two replicas had a mutation of one object under way: %s %s from %v to %v, and %s %s from %v to %v",
					x.Method, x.Path, x.Began, x.Ended, y.Method, y.Path, y.Began, y.Ended)
			}
		}
	}
	pairs(a.api.Requests(mutations), b.api.Requests(mutations), func(r proxy.Request) string { return strings.TrimSuffix(r.Path, "/status") })
	pairs(a.cloud.Requests(ofBalancerChanges), b.cloud.Requests(ofBalancerChanges), func(proxy.Request) string { return "" })
}
