package simulated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

const cluster = "test"

// balancing holds a provider's load balancers and their cloud.
type balancing struct {
	fixture

	balancers cloudprovider.LoadBalancer
}

func newBalancing(t *testing.T, config simulator.Config) balancing {
	t.Helper()
	f := newFixture(t, config)
	balancers, ok := f.cloud.LoadBalancer()
	if !ok {
		t.Fatal("no LoadBalancer")
	}
	return balancing{f, balancers}
}

// webService returns a Service with the defaults of the API server.
func webService(changes ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "6a4ee9ab-5bd5-4cb7-9e5d-a9a7fa29bb4b"},
		Spec: corev1.ServiceSpec{
			Type:                  corev1.ServiceTypeLoadBalancer,
			Ports:                 []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}},
			SessionAffinity:       corev1.ServiceAffinityNone,
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster,
			IPFamilies:            []corev1.IPFamily{corev1.IPv4Protocol},
		},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

func annotated(key Annotation, value string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[string(key)] = value
	}
}

// nodesOf returns the Nodes of the instances with these numbers.
func nodesOf(numbers ...int) []*corev1.Node {
	var nodes []*corev1.Node
	for _, n := range numbers {
		nodes = append(nodes, node(fmt.Sprintf("node-%d", n), fmt.Sprintf("simulated://sim-1/i-%08d", n)))
	}
	return nodes
}

func (b balancing) ensure(t *testing.T, s *corev1.Service, nodes []*corev1.Node) *corev1.LoadBalancerStatus {
	t.Helper()
	status, err := b.balancers.EnsureLoadBalancer(t.Context(), cluster, s, nodes)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func (b balancing) all(t *testing.T) []simulator.LoadBalancer {
	t.Helper()
	all, err := b.operator.LoadBalancers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// only returns the only load balancer.
func (b balancing) only(t *testing.T) simulator.LoadBalancer {
	t.Helper()
	all := b.all(t)
	if len(all) != 1 {
		t.Fatalf("there are %d load balancers", len(all))
	}
	return all[0]
}

var writes = []simulator.Call{
	simulator.CreateLoadBalancer, simulator.UpdateLoadBalancer, simulator.DeleteLoadBalancer,
	simulator.CreateStaticIP, simulator.ReleaseStaticIP,
}

// costs calls the given function, and checks how many writes the cloud gets meanwhile.
func (b balancing) costs(t *testing.T, want int64, what string, do func()) {
	t.Helper()
	count := func() int64 {
		report, err := b.operator.Calls(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return report.Count(writes...)
	}
	before := count()
	do()
	diff(t, what+": writes", want, count()-before)
}

func ingress(address string) *corev1.LoadBalancerStatus {
	mode := corev1.LoadBalancerIPModeVIP
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: address, IPMode: &mode}}}
}

func TestLoadBalancerLife(t *testing.T) {
	b := newBalancing(t, simulator.Config{})
	s := webService()
	get := func() (*corev1.LoadBalancerStatus, bool) {
		status, exists, err := b.balancers.GetLoadBalancer(t.Context(), cluster, s)
		diff(t, "error", nil, err)
		return status, exists
	}
	b.costs(t, 0, "before there is one", func() {
		_, exists := get()
		diff(t, "exists", false, exists)
		diff(t, "delete", nil, b.balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, s))
		err := b.balancers.UpdateLoadBalancer(t.Context(), cluster, s, nodesOf(1))
		if !errors.Is(err, errNoLoadBalancer) {
			t.Errorf("update: got %v", err)
		}
	})
	b.costs(t, 1, "creation", func() {
		diff(t, "status", ingress("127.64.1.1"), b.ensure(t, s, nodesOf(2, 1)))
	})
	want := simulator.LoadBalancer{
		ID: "lb-00000001", Name: "default-web-e5c7271f53", State: simulator.LoadBalancerActive, Address: "127.64.1.1",
		Tags:      map[string]string{TagCluster: cluster, TagServiceUID: string(s.UID), TagService: "default/web"},
		Listeners: []simulator.Listener{{Protocol: simulator.TCP, Port: 80, BackendPort: 30080}},
		Backends:  []string{"i-00000001", "i-00000002"}, SourceRanges: []string{simulator.Everyone},
	}
	diff(t, "created", want, b.only(t))
	b.costs(t, 0, "nothing has changed", func() {
		diff(t, "status", ingress("127.64.1.1"), b.ensure(t, s, nodesOf(1, 2)))
		diff(t, "update", nil, b.balancers.UpdateLoadBalancer(t.Context(), cluster, s, nodesOf(2, 1)))
		status, exists := get()
		diff(t, "exists", true, exists)
		diff(t, "status", ingress("127.64.1.1"), status)
	})
	b.costs(t, 1, "other nodes", func() {
		changed := webService(func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
		diff(t, "update", nil, b.balancers.UpdateLoadBalancer(t.Context(), cluster, changed, nodesOf(2, 3)))
	})
	want.Backends = []string{"i-00000002", "i-00000003"}
	diff(t, "an update changes the backends and nothing else", want, b.only(t))
	b.costs(t, 1, "no nodes", func() { b.ensure(t, s, nil) })
	want.Backends = []string{}
	diff(t, "without nodes it stays", want, b.only(t))
	b.costs(t, 1, "deletion", func() {
		diff(t, "delete", nil, b.balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, s))
		diff(t, "delete again", nil, b.balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, s))
	})
	diff(t, "left", 0, len(b.all(t)))
}

func TestWhatTheCloudLostIsMendedByEnsure(t *testing.T) {
	b := newBalancing(t, simulator.Config{})
	s := webService()
	b.ensure(t, s, nodesOf(1, 2))
	want := b.only(t)
	_, err := b.operator.UpdateLoadBalancer(t.Context(), want.ID, simulator.LoadBalancerPatch{
		Listeners: []simulator.Listener{{Protocol: simulator.UDP, Port: 9, BackendPort: 9}}, Backends: []string{"i-00000009"},
		SourceRanges: []string{"192.0.2.0/24"}, Affinity: new(simulator.Duration(time.Hour)), Drain: new(simulator.Duration(0)),
		HealthCheck: &simulator.HealthCheck{Port: 9}, Tags: map[string]*string{TagService: nil, "cost-center": new("7")},
	})
	diff(t, "error", nil, err)
	b.costs(t, 1, "drift", func() { b.ensure(t, s, nodesOf(1, 2)) })
	want.Tags["cost-center"] = "7"
	diff(t, "repaired, except for tags of other owners", want, b.only(t))

	diff(t, "error", nil, b.operator.DeleteLoadBalancer(t.Context(), want.ID))
	b.ensure(t, s, nodesOf(1, 2))
	diff(t, "one that was deleted by hand is created again", "lb-00000002", b.only(t).ID)
}

// Each write fails in turn, before or after the cloud carries it out. When the
// steps are repeated, they must lead to the same result as without the fault.
func TestCrashAtEachWrite(t *testing.T) {
	for _, kind := range []simulator.FaultKind{simulator.FaultError, simulator.FaultLostReply, simulator.FaultReset} {
		for n := range 4 {
			t.Run(fmt.Sprintf("%s%d", kind, n), func(t *testing.T) {
				b := newBalancing(t, simulator.Config{})
				b.set(t, simulator.Fault{Kind: kind, Calls: writes, Skip: n, Count: 1})
				life(t, b)
				faults, err := b.operator.Faults(t.Context())
				diff(t, "error", nil, err)
				diff(t, "hits", 1, faults[0].Hits)
			})
		}
	}
	t.Run("NoFault", func(t *testing.T) {
		b := newBalancing(t, simulator.Config{})
		b.costs(t, 4, "the whole life", func() { life(t, b) })
	})
}

// life goes through the life of a Service from beginning to end. It repeats
// each step until the step succeeds.
func life(t *testing.T, b balancing) {
	t.Helper()
	s := webService()
	other := webService(func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
	repeat := func(what string, step func(context.Context) error) {
		t.Helper()
		for range 3 {
			err := step(t.Context())
			if err == nil {
				return
			}
			if kind := b.cloud.ClassifyError(err).Kind; kind != provider.Unavailable {
				t.Errorf("%s: %v is %q", what, err, kind)
			}
			if n := len(b.all(t)); n > 1 {
				t.Errorf("%s: there are %d load balancers", what, n)
			}
		}
		t.Fatalf("%s does not succeed", what)
	}
	repeat("ensure", func(ctx context.Context) error {
		_, err := b.balancers.EnsureLoadBalancer(ctx, cluster, s, nodesOf(1))
		return err
	})
	diff(t, "backends", []string{"i-00000001"}, b.only(t).Backends)
	repeat("update", func(ctx context.Context) error {
		return b.balancers.UpdateLoadBalancer(ctx, cluster, s, nodesOf(1, 2))
	})
	diff(t, "backends", []string{"i-00000001", "i-00000002"}, b.only(t).Backends)
	repeat("change", func(ctx context.Context) error {
		_, err := b.balancers.EnsureLoadBalancer(ctx, cluster, other, nodesOf(1, 2))
		return err
	})
	diff(t, "port", 81, b.only(t).Listeners[0].Port)
	diff(t, "it is the same one", "lb-00000001", b.only(t).ID)
	repeat("delete", func(ctx context.Context) error {
		return b.balancers.EnsureLoadBalancerDeleted(ctx, cluster, s)
	})
	diff(t, "left", 0, len(b.all(t)))
}

func TestLostReplyToACreation(t *testing.T) {
	lose := func(t *testing.T, b balancing) {
		b.set(t, simulator.Fault{Kind: simulator.FaultLostReply, Calls: []simulator.Call{simulator.CreateLoadBalancer}, Count: 1})
		if _, err := b.balancers.EnsureLoadBalancer(t.Context(), cluster, webService(), nodesOf(1)); err == nil {
			t.Fatal("no error")
		}
	}
	t.Run("IsAdopted", func(t *testing.T) {
		b := newBalancing(t, simulator.Config{})
		lose(t, b)
		b.costs(t, 0, "adoption", func() { b.ensure(t, webService(), nodesOf(1)) })
		diff(t, "it", "lb-00000001", b.only(t).ID)
	})
	t.Run("IsAdoptedAndBroughtInLine", func(t *testing.T) {
		b := newBalancing(t, simulator.Config{})
		lose(t, b)
		b.costs(t, 1, "adoption", func() { b.ensure(t, webService(), nodesOf(1, 2)) })
		diff(t, "backends", []string{"i-00000001", "i-00000002"}, b.only(t).Backends)
	})
	t.Run("IsDeleted", func(t *testing.T) {
		b := newBalancing(t, simulator.Config{})
		lose(t, b)
		diff(t, "delete", nil, b.balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, webService()))
		diff(t, "left", 0, len(b.all(t)))
	})
	t.Run("IsNotMadeTwiceThoughInvisible", func(t *testing.T) {
		b := newBalancing(t, simulator.Config{})
		b.set(t, simulator.Fault{Kind: simulator.FaultInvisible, Age: simulator.Duration(time.Hour)})
		lose(t, b)
		_, err := b.balancers.EnsureLoadBalancer(t.Context(), cluster, webService(), nodesOf(1))
		if _, ok := errors.AsType[*api.RetryError](err); !ok {
			t.Errorf("got %v, want a RetryError", err)
		}
		diff(t, "it", "lb-00000001", b.only(t).ID)
		diff(t, "error", nil, b.operator.ClearFaults(t.Context()))
		b.ensure(t, webService(), nodesOf(1))
		diff(t, "it", "lb-00000001", b.only(t).ID)
	})
	t.Run("IsAdoptedByNameIfTheListByTagsLags", func(t *testing.T) {
		b := newBalancing(t, simulator.Config{})
		lose(t, b)
		// The first list, by tags, does not show the load balancer. The second list,
		// by name, does.
		b.set(t, simulator.Fault{Kind: simulator.FaultEmptyList, Count: 1})
		b.ensure(t, webService(), nodesOf(1, 2))
		diff(t, "it", "lb-00000001", b.only(t).ID)
		diff(t, "backends", []string{"i-00000001", "i-00000002"}, b.only(t).Backends)
	})
}

// Load balancers of other owners are not changed, even if they have the same
// name.
func TestOwnership(t *testing.T) {
	b := newBalancing(t, simulator.Config{})
	s := webService()
	b.ensure(t, s, nodesOf(1))
	ours := b.only(t)

	t.Run("TwoClusters", func(t *testing.T) {
		if _, err := b.balancers.EnsureLoadBalancer(t.Context(), "other", s, nodesOf(2)); err != nil {
			t.Fatal(err)
		}
		all := b.all(t)
		diff(t, "load balancers", 2, len(all))
		diff(t, "ours", ours, all[0])
		diff(t, "update", nil, b.balancers.UpdateLoadBalancer(t.Context(), "other", s, nodesOf(3)))
		diff(t, "delete", nil, b.balancers.EnsureLoadBalancerDeleted(t.Context(), "other", s))
		diff(t, "left", []simulator.LoadBalancer{ours}, b.all(t))
	})
	t.Run("AnotherServiceOfTheSameName", func(t *testing.T) {
		again := webService(func(s *corev1.Service) { s.UID = "another" })
		_, exists, err := b.balancers.GetLoadBalancer(t.Context(), cluster, again)
		diff(t, "error", nil, err)
		diff(t, "exists", false, exists)
		b.ensure(t, again, nodesOf(2))
		diff(t, "delete", nil, b.balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, again))
		diff(t, "left", []simulator.LoadBalancer{ours}, b.all(t))
	})
	t.Run("NameWithoutTags", func(t *testing.T) {
		theirs := webService(func(s *corev1.Service) { s.UID = "theirs" })
		foreign, err := b.operator.CreateLoadBalancer(t.Context(), simulator.LoadBalancer{
			Name: b.balancers.GetLoadBalancerName(t.Context(), cluster, theirs), Listeners: ours.Listeners,
		})
		diff(t, "error", nil, err)
		_, err = b.balancers.EnsureLoadBalancer(t.Context(), cluster, theirs, nodesOf(1))
		if err == nil || !strings.Contains(err.Error(), "belongs to something else and is not changed") || b.cloud.ClassifyError(err).Kind != provider.Invalid {
			t.Errorf("got %v", err)
		}
		diff(t, "delete", nil, b.balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, theirs))
		left, err := b.operator.LoadBalancer(t.Context(), foreign.ID)
		diff(t, "error", nil, err)
		diff(t, "it is left alone", foreign, left)
		diff(t, "error", nil, b.operator.DeleteLoadBalancer(t.Context(), foreign.ID))
	})
	t.Run("TwoWithItsTags", func(t *testing.T) {
		if _, err := b.operator.CreateLoadBalancer(t.Context(), simulator.LoadBalancer{Name: "twin", Tags: ours.Tags, Listeners: ours.Listeners}); err != nil {
			t.Fatal(err)
		}
		const want = "2 load balancers belong to this owner: lb-00000001 (default-web-e5c7271f53), lb-00000005 (twin); delete those that are not needed"
		for what, do := range map[string]func() error{
			"ensure": func() error {
				_, err := b.balancers.EnsureLoadBalancer(t.Context(), cluster, s, nil)
				return err
			},
			"update": func() error { return b.balancers.UpdateLoadBalancer(t.Context(), cluster, s, nil) },
			"get": func() error {
				_, _, err := b.balancers.GetLoadBalancer(t.Context(), cluster, s)
				return err
			},
		} {
			diff(t, what, want, text(do()))
		}
		diff(t, "delete", nil, b.balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, s))
		diff(t, "left", 0, len(b.all(t)))
	})
	t.Run("WithoutUID", func(t *testing.T) {
		nobody := webService(func(s *corev1.Service) { s.UID = "" })
		diff(t, "delete", "list load balancers: metadata.uid: is empty", text(b.balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, nobody)))
		_, err := b.balancers.EnsureLoadBalancer(t.Context(), cluster, nobody, nil)
		diff(t, "ensure", "metadata.uid: is empty", text(err))
	})
}

func TestLoadBalancerName(t *testing.T) {
	b := newBalancing(t, simulator.Config{})
	name := func(cluster string, changes ...func(*corev1.Service)) string {
		return b.balancers.GetLoadBalancerName(t.Context(), cluster, webService(changes...))
	}
	diff(t, "name", "default-web-e5c7271f53", name(cluster))
	seen := map[string]bool{}
	for _, n := range []string{
		name(cluster), name("other"), name(cluster, func(s *corev1.Service) { s.UID = "other" }),
		name(cluster, func(s *corev1.Service) { s.Namespace, s.Name, s.UID = "default-web", "x", "y" }),
		name(cluster, func(s *corev1.Service) { s.Namespace = strings.Repeat("n", 63) }),
	} {
		if len(n) > simulator.MaxLoadBalancerName {
			t.Errorf("%s is too long", n)
		}
		seen[n] = true
	}
	diff(t, "different names", 5, len(seen))
}

func TestNodesOfOthersAreLeftOut(t *testing.T) {
	b := newBalancing(t, simulator.Config{})
	nodes := append(nodesOf(3, 1, 3), node("no-id", ""), node("foreign", "aws:///eu/i-00000002"), node("odd", "simulated://x"))
	b.ensure(t, webService(), nodes)
	diff(t, "backends", []string{"i-00000001", "i-00000003"}, b.only(t).Backends)
	b.costs(t, 0, "no difference", func() {
		diff(t, "update", nil, b.balancers.UpdateLoadBalancer(t.Context(), cluster, webService(), nodes))
	})
}

func TestLoadBalancerThatIsPending(t *testing.T) {
	b := newBalancing(t, simulator.Config{Provisioning: time.Hour})
	for range 2 { // the first round creates it, and the second finds it
		_, err := b.balancers.EnsureLoadBalancer(t.Context(), cluster, webService(), nodesOf(1))
		retry, ok := errors.AsType[*api.RetryError](err)
		if !ok || retry.RetryAfter() != pendingPause || retry.Error() != "load balancer lb-00000001 (default-web-e5c7271f53) is pending" {
			t.Fatalf("got %v", err)
		}
	}
	status, exists, err := b.balancers.GetLoadBalancer(t.Context(), cluster, webService())
	diff(t, "error", nil, err)
	diff(t, "exists", true, exists)
	diff(t, "status", &corev1.LoadBalancerStatus{}, status)
	_, err = b.balancers.EnsureLoadBalancer(t.Context(), cluster, webService(), nodesOf(1, 2))
	if _, ok := errors.AsType[*api.RetryError](err); !ok {
		t.Errorf("got %v", err)
	}
	diff(t, "its backends are kept up to date", []string{"i-00000001", "i-00000002"}, b.only(t).Backends)
	diff(t, "delete", nil, b.balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, webService()))
	diff(t, "left", 0, len(b.all(t)))
}

func TestLoadBalancerIsReadyInTheEnd(t *testing.T) {
	b := newBalancing(t, simulator.Config{Provisioning: 20 * time.Millisecond})
	deadline := time.Now().Add(5 * time.Minute)
	for {
		status, err := b.balancers.EnsureLoadBalancer(t.Context(), cluster, webService(), nodesOf(1))
		if err == nil {
			diff(t, "status", ingress("127.64.1.1"), status)
			return
		}
		if _, ok := errors.AsType[*api.RetryError](err); !ok || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestQuotasAreNamed(t *testing.T) {
	b := newBalancing(t, simulator.Config{MaxLoadBalancers: 1, MaxBackends: 2})
	b.ensure(t, webService(), nodesOf(1, 2))
	other := webService(func(s *corev1.Service) { s.Name, s.UID = "other", "other" })
	_, err := b.balancers.EnsureLoadBalancer(t.Context(), cluster, other, nil)
	for what, row := range map[string]struct {
		err  error
		want string
	}{
		"LoadBalancers": {err, "the account has 1 load balancers, and its quota is 1"},
		"Backends": {
			b.balancers.UpdateLoadBalancer(t.Context(), cluster, webService(), nodesOf(1, 2, 3)),
			"load balancer default-web-e5c7271f53 would have 3 backends; the quota is 2 for each load balancer",
		},
	} {
		if row.err == nil || !strings.HasSuffix(row.err.Error(), row.want) {
			t.Errorf("%s: got %v", what, row.err)
		}
		diff(t, what+": class", provider.QuotaExceeded, b.cloud.ClassifyError(row.err).Kind)
	}
	diff(t, "what it had stays", []string{"i-00000001", "i-00000002"}, b.only(t).Backends)
}

func TestStaticIP(t *testing.T) {
	b := newBalancing(t, simulator.Config{})
	kept, err := b.operator.CreateStaticIP(t.Context(), simulator.StaticIP{Name: "kept"})
	diff(t, "error", nil, err)
	other, err := b.operator.CreateStaticIP(t.Context(), simulator.StaticIP{Name: "other"})
	diff(t, "error", nil, err)
	byIP := func(address string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.LoadBalancerIP = address }
	}
	for _, row := range []struct {
		service *corev1.Service
		address string
		writes  int64
	}{
		{webService(annotated(AnnotationStaticIP, "kept")), kept.Address, 1},
		{webService(annotated(AnnotationStaticIP, kept.ID)), kept.Address, 0},
		{webService(annotated(AnnotationStaticIP, kept.Address)), kept.Address, 0},
		{webService(byIP(kept.Address)), kept.Address, 0},
		{webService(byIP(kept.Address), annotated(AnnotationStaticIP, "kept")), kept.Address, 0},
		{webService(annotated(AnnotationStaticIP, "other")), other.Address, 1},
		{webService(byIP(kept.Address)), kept.Address, 1},
	} {
		b.costs(t, row.writes, "ensure", func() { diff(t, "status", ingress(row.address), b.ensure(t, row.service, nil)) })
	}
	for want, s := range map[string]*corev1.Service{
		`annotation simulated.fairlead.dev/static-ip: "none" is refused: it must be the name, ID or address of a static IP that was reserved in this cloud`:       webService(annotated(AnnotationStaticIP, "none")),
		`annotation simulated.fairlead.dev/static-ip: "" is refused: it must be the name, ID or address of a static IP that was reserved in this cloud`:           webService(annotated(AnnotationStaticIP, "")),
		`spec.loadBalancerIP: 192.0.2.1 is not a static IP that was reserved in this cloud`:                                                                       webService(byIP("192.0.2.1")),
		`annotation simulated.fairlead.dev/static-ip: "other" is refused: it has the address ` + other.Address + `, and spec.loadBalancerIP says ` + kept.Address: webService(annotated(AnnotationStaticIP, "other"), byIP(kept.Address)),
	} {
		_, err := b.balancers.EnsureLoadBalancer(t.Context(), cluster, s, nil)
		diff(t, "error", want, text(err))
		diff(t, "class", provider.Invalid, b.cloud.ClassifyError(err).Kind)
	}
	if status := b.ensure(t, webService(), nil); status.Ingress[0].IP == kept.Address {
		t.Error("without the annotation it still has the static IP")
	}
	b.ensure(t, webService(byIP(kept.Address)), nil)
	second := webService(byIP(kept.Address), func(s *corev1.Service) { s.UID = "second" })
	_, err = b.balancers.EnsureLoadBalancer(t.Context(), cluster, second, nil)
	if err == nil || !strings.HasSuffix(err.Error(), "static IP ip-00000001 is used by load balancer lb-00000001 (default-web-e5c7271f53)") {
		t.Errorf("got %v", err)
	}
	diff(t, "delete", nil, b.balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, webService()))
	all, err := b.operator.StaticIPs(t.Context())
	diff(t, "error", nil, err)
	diff(t, "kept", []simulator.StaticIP{kept, other}, all)
}

// The provider must not modify its arguments, because other calls and the
// informers share them.
func TestArgumentsAreNotModified(t *testing.T) {
	b := newBalancing(t, simulator.Config{})
	s := webService(annotated(AnnotationDrain, "30s"), annotated(AnnotationSourceRanges, "192.0.2.0/24,10.0.0.0/8"))
	nodes := nodesOf(3, 1, 2)
	serviceBefore, nodesBefore := s.DeepCopy(), nodesOf(3, 1, 2)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			// The calls may conflict, so their errors are ignored. The race detector
			// watches the calls.
			_, _ = b.balancers.EnsureLoadBalancer(t.Context(), cluster, s, slices.Clone(nodes))
			_ = b.balancers.UpdateLoadBalancer(t.Context(), cluster, s, slices.Clone(nodes))
			_, _, _ = b.balancers.GetLoadBalancer(t.Context(), cluster, s)
			b.balancers.GetLoadBalancerName(t.Context(), cluster, s)
		})
	}
	all.Wait()
	b.ensure(t, s, nodes)
	diff(t, "delete", nil, b.balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, s))
	diff(t, "service", serviceBefore, s)
	diff(t, "nodes, in their order", nodesBefore, nodes)
}

func TestManyServicesAtOnce(t *testing.T) {
	b := newBalancing(t, simulator.Config{})
	most := b.balancers.(provider.ConcurrentLoadBalancer).MaxConcurrentServices()
	diff(t, "at once", 10, most)
	var all sync.WaitGroup
	for n := range most {
		all.Go(func() {
			s := webService(func(s *corev1.Service) { s.Name, s.UID = fmt.Sprintf("web-%d", n), types.UID(strconv.Itoa(n)) })
			for round := range 5 {
				if _, err := b.balancers.EnsureLoadBalancer(t.Context(), cluster, s, nodesOf(n+1, 100+round)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	names := map[string]bool{}
	for _, l := range b.all(t) {
		names[l.Tags[TagService]] = true
		diff(t, "backends of "+l.Name, 2, len(l.Backends))
	}
	diff(t, "load balancers", most, len(names))
	diff(t, "none twice", most, len(b.all(t)))
}

// These faults make every call to the cloud fail. The provider returns an error. It
// never concludes that the load balancer is absent.
func TestLoadBalancerFaultsAreErrors(t *testing.T) {
	for kind, want := range map[simulator.FaultKind]provider.ErrorKind{
		simulator.FaultError: provider.Unavailable, simulator.FaultOutage: provider.Unavailable, simulator.FaultReset: provider.Unavailable,
		simulator.FaultLostReply: provider.Unavailable, simulator.FaultDenied: provider.Denied,
	} {
		t.Run(string(kind), func(t *testing.T) {
			b := newBalancing(t, simulator.Config{})
			b.ensure(t, webService(), nodesOf(1))
			before := b.only(t)
			b.set(t, simulator.Fault{Kind: kind})
			_, exists, getErr := b.balancers.GetLoadBalancer(t.Context(), cluster, webService())
			diff(t, "exists", false, exists)
			_, ensureErr := b.balancers.EnsureLoadBalancer(t.Context(), cluster, webService(), nodesOf(2))
			for what, err := range map[string]error{
				"get": getErr, "ensure": ensureErr,
				"update": b.balancers.UpdateLoadBalancer(t.Context(), cluster, webService(), nodesOf(2)),
				"delete": b.balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, webService()),
			} {
				if err == nil {
					t.Errorf("%s: no error", what)
				}
				diff(t, what+": class", want, b.cloud.ClassifyError(err).Kind)
			}
			diff(t, "nothing has happened", before, b.only(t))
		})
	}
	t.Run("notFoundAfterItWasListed", func(t *testing.T) {
		b := newBalancing(t, simulator.Config{})
		b.ensure(t, webService(), nodesOf(1))
		b.set(t, simulator.Fault{Kind: simulator.FaultNotFound, Calls: writes})
		if _, err := b.balancers.EnsureLoadBalancer(t.Context(), cluster, webService(), nodesOf(2)); !simulator.IsNotFound(err) {
			t.Errorf("ensure: got %v", err)
		}
		// The deletion is answered with 404. But the load balancer is still listed, so it still
		// exists.
		err := b.balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, webService())
		diff(t, "delete", "load balancer lb-00000001 (default-web-e5c7271f53): the cloud still shows it after its deletion", text(err))
	})
	t.Run("NotStarted", func(t *testing.T) {
		cloud, err := New(nil)
		diff(t, "error", nil, err)
		balancers, _ := cloud.LoadBalancer()
		if err := balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, webService()); err == nil {
			t.Error("no error without a cloud")
		}
	})
}
