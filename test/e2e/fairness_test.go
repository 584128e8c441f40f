package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// smallQuota gives a cloud a request quota that its users can use up.
var smallQuota = []string{"--quota=10", "--quota-burst=10"}

// figures is the cost of some work: the number of calls to the cloud, and the time.
type figures struct {
	calls int64
	took  time.Duration
}

func (f figures) String() string {
	return fmt.Sprintf("%d calls, %v", f.calls, f.took.Round(time.Millisecond))
}

// measured calls f, and returns the number of calls to the cloud and the time that f took.
func measured(ctx context.Context, t *testing.T, c *bed.Cloud, f func()) figures {
	t.Helper()
	if err := c.ResetCalls(ctx); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	f()
	took := time.Since(began)
	report, err := c.Calls(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return figures{report.Count(), took}
}

// compare checks the number of calls to the cloud, and logs the times. The attacker may
// cause a quarter more calls, and a few more in each minute.
func compare(t *testing.T, alone, attacked figures) {
	t.Helper()
	t.Logf("without the attacker: %v; with the attacker: %v (calls %.2f, time %.2f times as much)",
		alone, attacked, float64(attacked.calls)/float64(alone.calls), float64(attacked.took)/float64(alone.took))
	few := 2 + int64(attacked.took/(20*time.Second)) // calls that the attackers' own allowances permit: at most three a minute
	if most := alone.calls*5/4 + few; attacked.calls > most {
		t.Errorf("%d calls until it was done, want %d at most", attacked.calls, most)
	}
}

// repeatedly calls f in the background until the test ends or f returns an error. The
// end of the test waits for the last call.
func repeatedly(t *testing.T, every time.Duration, f func(ctx context.Context, n int) error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if err := f(ctx, n); err != nil && ctx.Err() == nil {
				t.Errorf("attack %d: %v", n, err)
				return
			}
			bed.Pause(ctx, every)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
}

// One tenant edits a Service of its own all the time. Meanwhile the load balancers of
// other Services follow the nodes, and new load balancers are made. The daemon makes
// one call for Services at a time (S3 b, P2 b).
func TestTenantsShareTheCloud(t *testing.T) {
	b := onOwn(t)
	s := lbservice.Services{Bed: b, Cloud: b.NewCloudWithoutTraffic(t, smallQuota...)}
	join := func() {
		i, _ := b.Pair(t, s.Cloud, simulator.Instance{Name: b.Name("host")})
		s.Hosts = append(s.Hosts, i)
	}
	join()
	s.Runs(t, daemon.Setup{})
	victims := []string{s.Balanced(t, "victim"), s.Balanced(t, "victim"), s.Balanced(t, "victim")}
	edited := newServiceOf(t, s.Bed, newTenant(t, s.Bed))
	work := func() {
		for range 4 {
			join()
			for _, victim := range victims {
				s.AwaitServing(t, victim, s.Hosts...)
			}
			short := s.Balanced(t, "short")
			s.AwaitServing(t, short, s.Hosts...)
			s.Delete(t, short)
			s.AwaitGone(t, short)
		}
	}
	work() // also waits until the victims have their load balancers
	alone := measured(t.Context(), t, s.Cloud, work)

	attack(t, s, edited)
	atFirst := measured(t.Context(), t, s.Cloud, work)
	t.Logf("while the attacker has its first edits: %v", atFirst)
	expect.Within(t, 2*time.Minute, func(ctx context.Context) error {
		service, err := b.Admin.CoreV1().Services(edited.Namespace).Get(ctx, edited.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return lbservice.Showing(lbservice.ConditionProvisioning, metav1.ConditionTrue, "EditedOften", "once in 2m")(service)
	})
	compare(t, alone, measured(t.Context(), t, s.Cloud, work))
}

// attack edits the Service until the end of the test.
func attack(t *testing.T, s lbservice.Services, service *corev1.Service) {
	t.Helper()
	repeatedly(t, 20*time.Millisecond, func(ctx context.Context, n int) error {
		body := fmt.Appendf(nil, `{"metadata":{"annotations":{"edited":"%d","fairlead.dev/load-balancer-backends":"%d"}}}`, n, 1+n%2)
		_, err := s.Admin.CoreV1().Services(service.Namespace).Patch(ctx, service.Name, types.MergePatchType, body, metav1.PatchOptions{})
		return err
	})
}

// Two kubelets change their own Nodes all the time, while other Nodes join. The first
// kubelet's Node waits, because the cloud does not know its instance. The second
// kubelet changes its Node's Ready condition, with an old heartbeat (P2 b).
func TestKubeletsShareTheCloud(t *testing.T) {
	b := onOwn(t)
	c := b.NewCloudWithoutTraffic(t, smallQuota...)
	b.Daemon(t, daemon.Setup{
		Cloud: c.URL,
		// With batches, the number of calls would depend on the times at which the Nodes come.
		Settings: "withoutBatches: true\n",
		// The calls of the periodic comparison are counted, too. So make it rare.
		Flags: []string{"--node-status-update-frequency=1h"},
	})
	work := func() {
		var instances []simulator.Instance
		for range 20 {
			instances = append(instances, c.Instance(t, simulator.Instance{Name: b.Name("joins")}))
		}
		for _, i := range instances {
			b.Register(t, nodes.New(i.Name))
		}
		for _, i := range instances {
			b.AwaitNode(t, i.Name, expect.Soon, nodes.Initialized)
		}
	}
	alone := measured(t.Context(), t, c, work)

	unknown := b.Register(t, nodes.New(b.Name("unknown")))
	repeatedly(t, 20*time.Millisecond, func(ctx context.Context, n int) error {
		body := fmt.Appendf(nil, `{"metadata":{"labels":{"example.com/changes":"%d"}}}`, n)
		_, err := b.Admin.CoreV1().Nodes().Patch(ctx, unknown.Name, types.MergePatchType, body, metav1.PatchOptions{})
		return err
	})
	known := c.Instance(t, simulator.Instance{Name: b.Name("flaps")})
	flaps := b.Register(t, nodes.NewInitialized(known))
	repeatedly(t, 20*time.Millisecond, func(ctx context.Context, n int) error {
		status := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}[n%2]
		body := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q,"reason":"Test","lastHeartbeatTime":"2020-01-01T00:00:00Z"}]}}`, status)
		_, err := b.Admin.CoreV1().Nodes().Patch(ctx, flaps.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
		return err
	})
	atFirst := measured(t.Context(), t, c, work)
	t.Logf("while the attackers have their first questions: %v", atFirst)
	expect.Within(t, 2*time.Minute, func(ctx context.Context) error {
		const rest = 5 * time.Second
		if f := measured(ctx, t, c, func() { bed.Pause(ctx, rest) }); f.calls > 2 {
			return fmt.Errorf("the cloud is still called for the Nodes of the attackers: %v", f)
		}
		return nil
	})
	compare(t, alone, measured(t.Context(), t, c, work))
}
