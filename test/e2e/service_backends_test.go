package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
)

// ofEndpoints lets only nodes with endpoints be behind load balancers.
const ofEndpoints = "--service-backends=endpoints"

// A Service with externalTrafficPolicy Local has 20 Pods on four nodes. A rollout moves them to
// four other nodes, while a client opens connections all the time. No connection fails, and none
// comes to a node without an endpoint that serves. A minute later the old nodes are no backends
// any more. After a restart the load balancer has the same nodes, without an update (S3 e).
func TestBackendsFollowTheEndpoints(t *testing.T) {
	const size, pods = 4, 20
	b := onOwn(t)
	b.UseRightsOf(t, chosenBackends)
	r := &rollout{
		traffic: traffic{Services: lbservice.Services{Bed: b, Cloud: b.NewCloud(t, "--check-interval=100ms")}},
		on:      map[*machine][]state{}, since: map[*machine]time.Time{}, until: map[*machine]time.Time{},
	}
	with := daemon.Setup{Flags: []string{ofEndpoints}}
	d := r.Runs(t, with)
	name := r.Balanced(t, "local", func(service *corev1.Service) {
		service.Spec.ExternalTrafficPolicy, service.Spec.Selector = corev1.ServiceExternalTrafficPolicyLocal, nil
	})
	r.names = []string{name}
	r.joins(t) // It never has a Pod.
	var from, to []*machine
	for range size {
		from, to = append(from, r.joins(t)), append(to, r.joins(t))
	}
	for n := range pods {
		r.pod(from[n%size], n/size, ready)
	}
	r.writes(t)
	r.AwaitServing(t, name, instancesOf(from)...)
	r.awaitHealthy(t)
	r.clients = []*trafficClient{r.connects(t, name)}
	r.awaitConnections(t, 100)

	const ends = 16 // so many steps after its end has begun, a Pod is gone
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for n := range pods + ends + 1 {
		if n < pods {
			r.pod(to[n%size], n/size, starting)
		}
		if n := n - 1; n >= 0 && n < pods {
			r.pod(to[n%size], n/size, ready)
			r.pod(from[n%size], n/size, ending)
		}
		if n := n - ends; n >= 0 && n < pods {
			r.pod(from[n%size], n/size, gone)
		}
		r.writes(t)
		<-tick.C
	}
	r.AwaitServingWithin(t, 2*time.Minute, name, instancesOf(to)...)
	r.awaitConnections(t, 100)
	r.judges(t)

	if err := r.Cloud.ResetCalls(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.Signal(syscall.SIGTERM)
	if code := d.AwaitExit(t, drain+noise); code != 0 {
		t.Errorf("the daemon has ended with code %d", code)
	}
	d = r.Runs(t, with)
	d.AwaitLogged(t, "Load balancer call succeeded", "ensure")
	r.AwaitServing(t, name, instancesOf(to)...)
	calls, err := r.Cloud.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := calls.Count(simulator.UpdateLoadBalancer); n > 0 {
		t.Errorf("%d updates after a restart, want none", n)
	}
}

// state is the state of a Pod. The zero value means that it does not exist.
type state int

const (
	gone state = iota
	starting
	ready
	ending // and still serving
)

// rollout has the machines behind a Service, and the Pods on them.
type rollout struct {
	traffic

	mu sync.Mutex
	on map[*machine][]state // guarded by mu
	// since and until say when the machine had endpoints that serve; guarded by mu
	since, until map[*machine]time.Time
}

// joins adds a machine that answers always, and whose health checks answer as kube-proxy does.
func (r *rollout) joins(t *testing.T) *machine {
	t.Helper()
	m := r.traffic.joins(t)
	m.reports(t, r.Service(t, r.names[0]).Spec.HealthCheckNodePort, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return slices.Contains(r.on[m], ready)
	})
	return m
}

// pod changes the state of a Pod.
func (r *rollout) pod(m *machine, n int, is state) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.on[m]) <= n {
		r.on[m] = append(r.on[m], gone)
	}
	r.on[m][n] = is
	switch serves := slices.Contains(r.on[m], ready) || slices.Contains(r.on[m], ending); {
	case serves && r.since[m].IsZero():
		r.since[m] = time.Now()
	case !serves && !r.since[m].IsZero():
		r.until[m] = time.Now()
	}
}

// writes stores the EndpointSlice, as Kubernetes does.
func (r *rollout) writes(t *testing.T) {
	t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: r.names[0],
			Labels: map[string]string{discoveryv1.LabelServiceName: r.names[0], discoveryv1.LabelManagedBy: "e2e"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	r.mu.Lock()
	for m, pods := range r.on {
		for n, is := range pods {
			if is != gone {
				slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
					Addresses: []string{fmt.Sprintf("10.0.%d.%d", len(slice.Endpoints), n+1)}, NodeName: &m.instance.Name,
					Conditions: discoveryv1.EndpointConditions{Ready: new(is == ready), Serving: new(is != starting), Terminating: new(is == ending)},
				})
			}
		}
	}
	r.mu.Unlock()
	api := r.Admin.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault)
	_, err := api.Update(t.Context(), slice, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = api.Create(t.Context(), slice, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// awaitHealthy waits until a connection succeeds.
func (r *rollout) awaitHealthy(t *testing.T) {
	t.Helper()
	l, err := r.Balancer(t.Context(), r.names[0])
	if err != nil {
		t.Fatal(err)
	}
	v := trafficClient{address: l.Traffic.Listeners[0].Address}
	expect.Within(t, expect.Soon, func(context.Context) error { return v.connect().err })
}

// judges checks each connection.
func (r *rollout) judges(t *testing.T) {
	t.Helper()
	v := r.clients[0]
	v.stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	all, hosts := v.since(time.Time{}), map[string]*machine{}
	for m := range r.on {
		hosts[m.instance.ID] = m
	}
	for _, c := range all {
		m := hosts[c.host]
		switch {
		case c.err != nil:
			t.Errorf("a connection failed after %v: %v", c.ended.Sub(c.began), c.err)
		case m == nil:
			t.Errorf("a connection came to %s, which never had a Pod", c.host)
		case c.ended.Before(r.since[m]), !r.until[m].IsZero() && c.began.After(r.until[m]):
			t.Errorf("a connection came to %s, which had no endpoint that serves", m.instance.Name)
		}
	}
	t.Logf("%d connections", len(all))
}

func instancesOf(machines []*machine) (all []simulator.Instance) {
	for _, m := range machines {
		all = append(all, m.instance)
	}
	return all
}
