package e2e

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

// oneByOne makes the simulated provider ask about each Node in a call of its own, as most
// providers do.
const oneByOne = "withoutBatches: true\n"

// withoutSilence keeps the Nodes of a fleet from falling silent in a test that takes more
// than half a minute. No kubelet reports for them.
const withoutSilence = "--node-monitor-grace-period=1h"

func initialised(n *corev1.Node) bool { return !nodes.IsTainted(n) }

// callsOf returns the report of the calls since it was last reset.
func callsOf(t *testing.T, c *bed.Cloud) simulator.CallReport {
	t.Helper()
	report, err := c.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// awaitSaid waits until /readyz?verbose says all of the words in one line. The daemon
// must be ready nevertheless.
func awaitSaid(t *testing.T, d *daemon.Daemon, words ...string) {
	t.Helper()
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		status, body, err := d.Request(ctx, "/readyz?verbose", "")
		if err != nil {
			return err
		}
		says := func(line string) bool { return expect.HasWords(line, words) }
		if status != http.StatusOK || !slices.ContainsFunc(strings.Split(body, "\n"), says) {
			return fmt.Errorf("/readyz?verbose answers %d, want a line with all of %q:\n%s", status, words, body)
		}
		return nil
	})
}

// The cloud refuses to create load balancers, and asks for a pause of 5 minutes. The
// Services say why they wait. Nodes that join meanwhile do not wait, and no question about
// them is refused. If only the load balancer of one Service is refused, others are made.
func TestRefusedServiceHoldsNoNode(t *testing.T) {
	const size = 30
	b := onOwn(t)
	c := b.NewCloudWithoutTraffic(t, "--latency=30ms")
	b.Daemon(t, daemon.Setup{Cloud: c.URL, Settings: oneByOne})
	join := func(within time.Duration) figures {
		t.Helper()
		return measured(t.Context(), t, c, func() {
			awaitFleet(t, b, newFleet(t, b, c, size), size, within, initialised)
		})
	}
	join(expect.Soon) // The first calls of a process are slower.
	alone := join(expect.Soon)
	refuse := func(t *testing.T, namespace string) {
		t.Helper()
		c.Fail(t, simulator.Fault{
			Name: "refused", Kind: simulator.FaultThrottle, Calls: []simulator.Call{simulator.CreateLoadBalancer}, Match: namespace + "*",
			Rate: 1. / 300, Burst: 1, Tokens: new(int),
		})
	}
	waits := lbservice.Showing(lbservice.ConditionProvisioning, metav1.ConditionTrue, "CloudThrottled", "request quota is used up")
	joinAsBefore := func(t *testing.T) {
		t.Helper()
		refused, report := join(2*alone.took+5*time.Second), callsOf(t, c)
		t.Logf("%d Nodes without a refusal: %v; with it: %v", size, alone, refused)
		questions := simulator.CallReport{Counters: slices.DeleteFunc(report.Counters, func(n simulator.CallCounter) bool { return n.Call == simulator.CreateLoadBalancer })}
		if n := throttled(questions); n > 0 {
			t.Errorf("%d questions were refused, although the cloud refuses only to create load balancers", n)
		}
	}
	t.Run("OneTenant", func(t *testing.T) {
		tenant, other := newTenant(t, b), newTenant(t, b)
		refuse(t, tenant)
		victim := newServiceOf(t, b, tenant)
		awaitService(t, b, victim, waits)
		joinAsBefore(t)
		awaitService(t, b, newServiceOf(t, b, other), lbservice.Showing(lbservice.ConditionServing, metav1.ConditionTrue, "Ready"))
		awaitService(t, b, victim, waits)
	})
	t.Run("AllTenants", func(t *testing.T) {
		refuse(t, "")
		var victims []*corev1.Service
		for range 3 {
			victims = append(victims, newServiceOf(t, b, newTenant(t, b)))
		}
		for _, victim := range victims {
			awaitService(t, b, victim, waits)
		}
		joinAsBefore(t)
		for _, victim := range victims {
			awaitService(t, b, victim, waits)
		}
	})
}

// The cloud has one bucket for calls that read and one for calls that change something, as
// EC2 has. Nodes join while Services are created, and the load balancers follow the Nodes.
// Few calls are refused, whether the Services belong to one tenant or to several.
func TestQuotaOfEachKindOfCall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a minute")
	}
	const (
		size     = 300
		services = 20
		within   = 2 * time.Minute
	)
	quota := bed.WriteFile(t, filepath.Join(t.TempDir(), "quota.yaml"), `
buckets:
- {name: reads, calls: [reads], rate: 20, burst: 20}
- {name: changes, calls: [changes], rate: 5, burst: 5}
`)
	b := onOwn(t, withoutSilence)
	for name, tenants := range map[string]int{"OneTenant": 1, "FiveTenants": 5} {
		t.Run(name, func(t *testing.T) {
			c := b.NewCloudWithoutTraffic(t, "--latency=30ms", "--quota="+quota)
			b.Daemon(t, daemon.Setup{Cloud: c.URL, Settings: oneByOne})
			began := time.Now()
			for range tenants {
				tenant := newTenant(t, b)
				for range services / tenants {
					newServiceOf(t, b, tenant)
				}
			}
			fleet := newFleet(t, b, c, size)
			awaitFleet(t, b, fleet, size, within, initialised)
			t.Logf("%d Nodes were initialised after %.1f s; the quota allows %d s", size, time.Since(began).Seconds(), (size-20)/20)
			expect.Within(t, within, func(ctx context.Context) error {
				all, err := c.LoadBalancers(ctx)
				if err == nil {
					all = slices.DeleteFunc(all, func(l simulator.LoadBalancer) bool { return len(l.Backends) < size })
					err = expect.Equal("load balancers that have all Nodes", services, len(all))
				}
				return err
			})
			report := callsOf(t, c)
			refused := throttled(report)
			t.Logf("%d Services had all Nodes after %.1f s; %d calls, %d refused: %+v", services, time.Since(began).Seconds(), report.Count(), refused, report.Counters)
			if most := report.Count() / 10; refused > most {
				t.Errorf("%d of %d calls were refused, want %d at most", refused, report.Count(), most)
			}
		})
	}
}

// newTenant creates a namespace.
func newTenant(t *testing.T, b *bed.Bed) (namespace string) {
	t.Helper()
	created, err := b.Admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.Name("tenant")}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created.Name
}

// newServiceOf creates a Service of the type LoadBalancer. Its load balancer ends with the
// cloud.
func newServiceOf(t *testing.T, b *bed.Bed, tenant string) *corev1.Service {
	t.Helper()
	own := b.Admin.CoreV1().Services(tenant)
	service, err := own.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: b.Name("web")},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error {
		_, err := own.Patch(ctx, service.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err == nil {
			err = own.Delete(ctx, service.Name, metav1.DeleteOptions{})
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	return service
}

// awaitService waits until check finds nothing wrong with the Service.
func awaitService(t *testing.T, b *bed.Bed, service *corev1.Service, check func(*corev1.Service) error) {
	t.Helper()
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		now, err := b.Admin.CoreV1().Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return check(now)
	})
}

// The provider asks about many Nodes in one call, and returns errors only in its answers.
// An outage costs as few calls as with any other provider, and the daemon says that the
// cloud does not answer.
func TestErrorsInAnswersOfBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes about a minute")
	}
	const (
		size   = 100
		outage = 40 * time.Second
	)
	b := onOwn(t, withoutSilence)
	c := b.NewCloud(t, "--latency=30ms")
	d := b.Daemon(t, daemon.Setup{Provider: "batching", Cloud: c.URL})
	awaitFleet(t, b, newFleet(t, b, c, 1), 1, expect.Soon, initialised)
	c.Fail(t, simulator.Fault{Name: "down", Kind: simulator.FaultOutage})
	if err := c.ResetCalls(t.Context()); err != nil {
		t.Fatal(err)
	}
	bed.Pause(t.Context(), 2*time.Second) // More calls begin if the cloud answered one a moment ago.
	began := time.Now()
	name := newFleet(t, b, c, size)
	awaitSaid(t, d, "[i]cloud", "does not answer calls (instances", "Unavailable")
	bed.Pause(t.Context(), outage-time.Since(began))
	awaitSaid(t, d, "[i]cloud", "does not answer calls (instances", "Unavailable")
	report, lasted := callsOf(t, c), time.Since(began)
	t.Logf("%d calls in an outage of %.0f s", report.Count(), lasted.Seconds())
	// Up to 20 calls begin before the daemon notices the outage.
	if n := report.Count(); n > 20+int64(lasted/(4800*time.Millisecond)) {
		t.Errorf("%d calls in an outage of %.0f s, want one in 4.8 s after the first 20", n, lasted.Seconds())
	}
	c.Heal(t)
	healed := time.Now()
	awaitFleet(t, b, name, size, expect.Soon, initialised)
	t.Logf("all Nodes were initialised %.1f s after the outage", time.Since(healed).Seconds())
}

// The quota allows one call a second, and the operator says so. The comparison of all Nodes
// with the cloud would need as many. It takes a fifth at most, so that the bucket is full
// when somebody needs it, and the daemon says that it compares more slowly than its flag
// demands.
func TestIdleClusterLeavesTheQuota(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a minute")
	}
	const (
		size = 60
		idle = time.Minute
	)
	b := onOwn(t, withoutSilence)
	c := b.NewCloud(t, "--latency=30ms", "--quota=1", fmt.Sprintf("--quota-burst=%d", 2*size))
	d := b.Daemon(t, daemon.Setup{
		Cloud: c.URL, Elect: true, Settings: oneByOne,
		Flags: []string{"--cloud-api-budget=1", "--node-status-update-frequency=1m"},
	})
	awaitFleet(t, b, newFleet(t, b, c, size), size, expect.Soon, initialised)
	awaitLeaseEvent(t, b, "CloudComparisonsSlowed")
	b.AwaitMetric(t, d, `fairlead_cloud_calls_limited{by="share"} 1`)
	awaitSaid(t, d, "[i]cloud", "comparisons of all nodes take longer than their period", "0.15 calls a second")

	counted := measured(t.Context(), t, c, func() { bed.Pause(t.Context(), idle) })
	report := callsOf(t, c)
	t.Logf("%d idle Nodes: %v, %d refused", size, counted, throttled(report))
	if most := int64(counted.took.Seconds()/5) + 2; counted.calls > most {
		t.Errorf("%d calls in %.0f s, want %d at most", counted.calls, counted.took.Seconds(), most)
	}
	if n := throttled(report); n > 0 {
		t.Errorf("%d calls were refused while nothing changed", n)
	}
	awaitSaid(t, d, "[i]cloud", "comparisons of all nodes take longer than their period")
	joins(t, b, c, expect.Soon)
}

// The provider answers from a list that it keeps for 2 seconds. A comparison of all Nodes
// makes it read that list about once. If the questions were spread over the period, it
// would read its list ten times.
func TestListCacheIsFilledOnceAWalk(t *testing.T) {
	const (
		size   = 40
		period = 20 * time.Second
		walks  = 2
	)
	b := onOwn(t, withoutSilence)
	c := b.NewCloud(t, "--latency=30ms")
	b.Daemon(t, daemon.Setup{Provider: "keeps-list", Cloud: c.URL, Flags: []string{"--node-status-update-frequency=" + period.String()}})
	awaitFleet(t, b, newFleet(t, b, c, size), size, expect.Soon, initialised)
	counted := measured(t.Context(), t, c, func() { bed.Pause(t.Context(), walks*period) })
	t.Logf("%d comparisons of %d Nodes: %v", walks, size, counted)
	most := int64(float64(walks+1) * 1.5 * timeout.Factor())
	if counted.calls == 0 || counted.calls > most {
		t.Errorf("the list was read %d times in %.0f s, want at least once and at most %d times", counted.calls, counted.took.Seconds(), most)
	}
}
