package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

var (
	chaosFor  = flag.Duration("chaos", time.Minute, "how long TestChaos begins new storms")
	chaosSeed = flag.Uint64("chaos-seed", 0, "the seed of TestChaos; 0 means another one each time")
)

const (
	// stormFor is the time for which Services live while everything fails.
	stormFor = 30 * time.Second
	// settledWithin is the time within which everything is in order after a storm. It
	// covers a hand-over after a crash, the longest delay of a retry in a storm, and the
	// pause of a Service that was edited often.
	settledWithin = 3 * time.Minute
	// followedWithin is the time within which everything is in order after the last event
	// while nothing fails.
	followedWithin = 10 * time.Second
	// quietFor is the time for which nothing may be written once everything is in order.
	quietFor = 8 * time.Second
)

// Many Services live, change and die, again and again under the same names, while the
// cloud fails, processes are killed and stopped, the API server restarts, and Nodes come
// and go. The events follow from a seed, but not the times at which they fall.
func TestChaos(t *testing.T) {
	const names = 24
	b := onOwn(t)
	seed := *chaosSeed
	for seed == 0 {
		seed = rand.Uint64N(1e6)
	}
	t.Logf("to repeat these events: make chaos SEED=%d DURATION=%v", seed, *chaosFor)
	p := nodepool.New(t, b, 4)
	c := &chaos{Services: lbservice.Services{Bed: b, Cloud: p.Cloud}, pool: p, r: newRandom(seed, 0), front: bed.BeforeCloud(t, p.Cloud)}
	c.lives, c.ofBalancer, c.excluded = map[types.UID]*serviceLife{}, map[string]types.UID{}, map[string]bool{}
	for n := range uint64(names) {
		c.slots = append(c.slots, &slot{chaos: c, r: newRandom(seed, n+1), name: b.Name("chaos")})
	}
	mark := b.Audit(t).Mark()
	c.startReplicas(t)
	watching, stop := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() { c.watch(watching, t) })
	began, rounds := time.Now(), 0
	for ; rounds == 0 || time.Since(began) < *chaosFor; rounds++ {
		c.storm(t)
		c.await(t, settledWithin, "the storm")
		c.calm(t)
		c.await(t, followedWithin, "the last event")
		c.staysQuiet(t)
		c.judge(t, mark)
		if t.Failed() {
			break
		}
	}
	stop()
	watch.Wait()
	t.Logf("seed %d: %d lives in %d storms, %d load balancers, %d changes of them; %+v",
		seed, len(c.lives), rounds, len(c.ofBalancer), len(c.front.Requests(ofBalancerChanges)), c.count)
}

func newRandom(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// chaos is a cluster whose Services live in a storm. Fields without a comment belong to
// the goroutine of the test.
type chaos struct {
	lbservice.Services

	pool     *nodepool.Pool
	front    *proxy.Proxy // before the cloud, for all replicas
	r        *rand.Rand
	slots    []*slot
	excluded map[string]bool // names of Nodes that get no traffic
	setups   []daemon.Setup
	replicas []*daemon.Daemon
	thaws    []time.Time // when a replica that was stopped goes on
	count    struct{ Kills, Stops, Restarts, Faults, Nodes int }

	mu         sync.Mutex
	lives      map[types.UID]*serviceLife // guarded by mu
	ofBalancer map[string]types.UID       // the Service of a load balancer, by its ID; guarded by mu
}

// serviceLife is the life of one Service.
type serviceLife struct {
	uid     types.UID
	foreign bool // of a class that is not served
	// left is the time at which the Service first ceased to want a load balancer; zero
	// means never. Guarded by chaos.mu.
	left time.Time
	did  []string // what has happened to the Service; guarded by chaos.mu
}

// String returns the UID of the Service and what has happened to it. The caller holds
// chaos.mu.
func (l *serviceLife) String() string {
	if l == nil {
		return "nobody's"
	}
	return fmt.Sprintf("%s (%s)", l.uid, strings.Join(l.did, "; "))
}

func (c *chaos) startReplicas(t *testing.T) {
	t.Helper()
	lease := c.Name("lease")
	lbservice.MayLeadBy(t, c.Bed, lease)
	fast := c.r.IntN(2) == 0
	for range 2 {
		workers := 1 + c.r.IntN(5)
		c.setups = append(c.setups, c.Of(daemon.Setup{
			Cloud: c.front.URL(), Elect: true, Lease: lease, FastPaths: fast,
			Flags: []string{"--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s", fmt.Sprintf("--concurrent-service-syncs=%d", workers)},
		}))
		t.Logf("a replica with %d workers, fast paths: %v", workers, fast)
	}
	c.replicas, c.thaws = make([]*daemon.Daemon, len(c.setups)), make([]time.Time, len(c.setups))
	c.supervise(t)
}

// supervise starts each replica that does not run, and lets those go on that have been
// stopped for long enough.
func (c *chaos) supervise(t *testing.T) {
	t.Helper()
	for n, d := range c.replicas {
		if d != nil && !c.thaws[n].IsZero() && time.Now().After(c.thaws[n]) {
			d.Signal(syscall.SIGCONT)
			c.thaws[n] = time.Time{}
		}
		if d != nil && !d.Ended() {
			continue
		}
		if d != nil && d.Logged("panic: ") {
			t.Errorf("a replica has panicked:\n%s", d.Log())
		}
		c.replicas[n], c.thaws[n] = c.Daemon(t, c.setups[n]), time.Time{}
	}
}

// storm lets everything happen at once. In the end, nothing fails any more.
func (c *chaos) storm(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stormFor)
	defer cancel()
	var living sync.WaitGroup
	for _, s := range c.slots {
		living.Go(func() { s.lives(t, ctx.Done()) }) //nolint:contextcheck // the end of the storm cuts no request short
	}
	for restarted := false; ctx.Err() == nil; {
		switch pick, n := c.r.IntN(20), c.r.IntN(len(c.replicas)); {
		case pick < 5:
			c.fault(t)
		case pick < 10:
			c.changeNodes(t)
		case pick < 12:
			c.replicas[n].Kill()
			c.count.Kills++
		case pick < 14:
			c.replicas[n].Signal(syscall.SIGSTOP)
			c.thaws[n] = time.Now().Add(time.Duration(c.r.IntN(25)) * time.Second)
			c.count.Stops++
		case pick == 14 && !restarted:
			c.restartAPIServer(t)
			restarted = true
		}
		bed.Pause(ctx, time.Duration(c.r.IntN(2000))*time.Millisecond)
		c.supervise(t)
	}
	living.Wait()
	c.Cloud.Heal(t)
	for n := range c.thaws {
		c.replicas[n].Signal(syscall.SIGCONT)
		c.thaws[n] = time.Time{}
	}
}

// calm replaces some Services and changes a Node while nothing fails.
func (c *chaos) calm(t *testing.T) {
	t.Helper()
	var ended []*slot
	for _, s := range c.slots {
		if c.r.IntN(3) > 0 {
			continue
		}
		if ended = append(ended, s); s.now != nil {
			s.ends(t)
		}
	}
	expect.Within(t, followedWithin, func(ctx context.Context) error {
		if n := slices.IndexFunc(ended, func(s *slot) bool { return !s.gone(ctx) }); n >= 0 {
			return fmt.Errorf("service %s is still there, want it gone", ended[n].name)
		}
		return nil
	})
	for _, s := range ended {
		s.begins(t)
	}
	c.changeNodes(t)
}

func (c *chaos) fault(t *testing.T) {
	t.Helper()
	kinds := []simulator.FaultKind{simulator.FaultLatency, simulator.FaultLostReply, simulator.FaultError, simulator.FaultOutage, simulator.FaultReset}
	f := simulator.Fault{Kind: kinds[c.r.IntN(len(kinds))], Probability: 0.1 + 0.4*c.r.Float64()}
	f.Name = string(f.Kind)
	f.Calls = []simulator.Call{simulator.CreateLoadBalancer, simulator.UpdateLoadBalancer, simulator.DeleteLoadBalancer, simulator.SetBackends}
	if f.Kind == simulator.FaultLatency {
		f.Latency, f.Jitter = simulator.Duration(500*time.Millisecond), simulator.Duration(2*time.Second)
	} else {
		f.Calls = append(f.Calls, wire.ListLoadBalancers, wire.GetLoadBalancer)
	}
	c.Cloud.Fail(t, f)
	c.count.Faults++
}

// changeNodes lets a Node join, leave, or change whether it gets traffic.
func (c *chaos) changeNodes(t *testing.T) {
	t.Helper()
	c.count.Nodes++
	m := c.pool.Members[c.r.IntN(len(c.pool.Members))]
	switch pick := c.r.IntN(4); {
	case pick == 0 || m.Handled:
		c.pool.Newcomer(t, "chaos")
	case pick == 1:
		c.pool.ByHand(t, m)
	default:
		c.excluded[m.Name] = !c.excluded[m.Name]
		value := map[bool]string{true: `""`, false: "null"}[c.excluded[m.Name]]
		c.pool.Patch(t, m.Name, `{"metadata":{"labels":{"`+corev1.LabelNodeExcludeBalancers+`":`+value+`}}}`)
	}
}

func (c *chaos) restartAPIServer(t *testing.T) {
	t.Helper()
	if _, err := c.Command(t.Context(), "restart", "--kill", "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	expect.Within(t, expect.Soon, func(context.Context) error {
		_, err := c.Admin.Discovery().ServerVersion()
		return err
	})
	c.count.Restarts++
}
