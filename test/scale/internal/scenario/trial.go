package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/cloud"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/cluster"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// trial is one run of one scenario with one contender. Each trial has its own
// cloud and its own control plane.
type trial struct {
	Settings

	scenario  Scenario
	contender contender.Name
	bin, dir  string
	clock     clock.WithTicker
	row       *report.Row
	progress  func(format string, args ...any)
	prepared  func() // allows the preparation of the next trial

	cloud  *cloud.Cloud
	plane  *cluster.Plane
	nodes  *cluster.Nodes
	joined int // number of Nodes so far
	began  mark
	series *sampler // nil while nothing is measured

	mu      sync.Mutex
	daemons []*contender.Daemon // changed only by the goroutine of the trial; guarded by mu, because the sampler reads it
}

// mark is the beginning of a measurement.
type mark struct {
	at    time.Time
	audit int64
	cpu   time.Duration
}

// up starts the cloud and the control plane.
func (t *trial) up(ctx context.Context) error {
	flags := []string{"--traffic=false", "--latency=" + t.Latency.String()}
	switch t.scenario.Provider { //nolint:exhaustive // For the other providers, the size of a page does not matter.
	case contender.Listing: // All instances are on one page, so a fault that cuts a page in half cuts the list in half.
		flags = append(flags, fmt.Sprintf("--page-size=%d", t.Nodes))
	case contender.ListingCached:
		flags = append(flags, fmt.Sprintf("--page-size=%d", listCachePage))
	}
	if t.scenario.Quota == "" { // Otherwise the scenario sets the buckets itself.
		flags = append(flags, fmt.Sprintf("--quota=%d", t.Quota), fmt.Sprintf("--quota-burst=%d", t.Burst))
	}
	var err error
	if t.cloud, err = cloud.Start(ctx, t.program("simcloud"), t.dir, flags...); err != nil {
		return err
	}
	if t.plane, err = cluster.Start(ctx, t.program("playground"), t.dir, t.kubelets()); err != nil {
		return err
	}
	t.nodes, err = cluster.Watch(ctx, t.plane.Client, t.clock)
	return err
}

// kubelets returns the URL of the cloud whose instances have kubelets.
func (t *trial) kubelets() string {
	if t.scenario.Kubelets {
		return t.cloud.URL
	}
	return ""
}

func (t *trial) program(name string) string { return t.bin + "/" + name }

// down ends all processes, the daemons first.
func (t *trial) down() error {
	t.series.stop()
	var errs []error
	for _, d := range t.daemons {
		errs = append(errs, d.Stop())
	}
	if t.nodes != nil {
		t.nodes.Close()
	}
	if t.plane != nil {
		errs = append(errs, t.plane.Stop())
	}
	if t.cloud != nil {
		errs = append(errs, t.cloud.Stop())
	}
	return errors.Join(errs...)
}

// makeNode returns the Node of an instance. This Node is the n-th Node of the
// cluster.
type makeNode func(i simulator.Instance, n int, now time.Time) *corev1.Node

func uninitialized(i simulator.Instance, n int, now time.Time) *corev1.Node {
	return cluster.Uninitialized(i.Name, n, now)
}

// join creates instances and then their Nodes. If as is nil, kubelets register the Nodes.
func (t *trial) join(ctx context.Context, size int, as makeNode) ([]simulator.Instance, error) {
	began, first := t.clock.Now(), t.joined
	t.joined += size
	instances := make([]simulator.Instance, size)
	nodes := make([]*corev1.Node, size)
	place := t.scenario.place
	if place == nil {
		place = threeZones
	}
	err := cluster.Each(size, func(n int) (err error) {
		zone, region := place(first + n)
		instances[n], err = t.cloud.CreateInstance(ctx, simulator.Instance{Name: fmt.Sprintf("node-%05d", first+n), Zone: zone, Region: region})
		if as != nil {
			nodes[n] = as(instances[n], first+n, began)
		}
		return err
	})
	if err != nil || as == nil {
		return instances, err
	}
	if err := t.plane.Register(ctx, nodes); err != nil {
		return nil, err
	}
	return instances, nil
}

func threeZones(n int) (zone, region string) { return "sim-1" + string("abc"[n%3]), "sim-1" }

// fleet creates all Nodes of the cluster and their instances. It returns when nobody
// has written to the Nodes for two seconds.
func (t *trial) fleet(ctx context.Context, as makeNode) ([]simulator.Instance, error) {
	began := t.clock.Now()
	instances, err := t.join(ctx, t.Nodes, as)
	if err != nil {
		return nil, err
	}
	err = t.nodes.Await(ctx, 5*time.Minute, func(nodes map[string]*corev1.Node) error {
		const quiet = 2 * time.Second
		if len(nodes) < t.Nodes || t.nodes.Unchanged() < quiet && !t.scenario.Kubelets {
			return fmt.Errorf("the control plane still writes some of %d Nodes", len(nodes))
		}
		return nil
	})
	t.progress("%d Nodes are there after %.1f s", t.Nodes, t.clock.Since(began).Seconds())
	t.prepared()
	return instances, err
}

// replica starts a daemon.
func (t *trial) replica() (*contender.Daemon, error) {
	d, err := contender.Start(t.dir, contender.Setup{
		Program:    contender.Program(t.bin, t.contender, t.scenario.Provider),
		Provider:   t.scenario.Provider,
		CloudURL:   t.cloud.URL,
		Plain:      t.scenario.FastPaths == Off,
		Kubeconfig: t.plane.CCMKubeconfig,
		Flags:      t.row.Flags,
	})
	if err == nil {
		t.mu.Lock()
		t.daemons = append(t.daemons, d)
		t.mu.Unlock()
	}
	return d, err
}

// lead starts a daemon. It waits until the daemon holds the lease and has done its work
// at startup. That work counts as done when the rate of calls to the cloud has fallen to
// about 1.5 times callsPerSecond.
func (t *trial) lead(ctx context.Context, callsPerSecond float64) error {
	const (
		within = 2 * time.Minute
		window = 3 * time.Second
	)
	began := t.clock.Now()
	was, err := t.plane.Holder(ctx)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	d, err := t.replica()
	if err != nil {
		return err
	}
	err = t.poll(ctx, within, func() error {
		if err := d.Err(); err != nil {
			return err
		}
		holder, err := t.plane.Holder(ctx)
		if holder == "" || holder == was || apierrors.IsNotFound(err) {
			return errors.New("no leader yet")
		}
		return err
	})
	if err != nil {
		return err
	}
	most := int64(1.5*callsPerSecond*window.Seconds()) + 2
	var before int64
	at := t.clock.Now()
	err = t.poll(ctx, within+2*t.pass(), func() error {
		if t.clock.Since(at) < window {
			return errors.New("it has just begun to lead")
		}
		report, err := t.cloud.Calls(ctx)
		if err != nil {
			return err
		}
		if made := report.Count() - before; made > most {
			before, at = report.Count(), t.clock.Now()
			return fmt.Errorf("%d calls to the cloud within %v", made, window)
		}
		return d.Err()
	})
	t.progress("leads and has settled after %.1f s", t.clock.Since(began).Seconds())
	return err
}

// even returns how many calls per second are needed to ask about each Node once
// in five minutes. That is the default period of both contenders.
func (t *trial) even() float64 { return float64(t.Nodes) / (5 * time.Minute).Seconds() }

// poll calls check every 100 ms until check returns nil. When the time is over, poll
// returns an error that wraps both cluster.ErrLate and the last error of check.
func (t *trial) poll(ctx context.Context, within time.Duration, check func() error) error {
	deadline := t.clock.Now().Add(within)
	tick := t.clock.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		if !t.clock.Now().Before(deadline) {
			return fmt.Errorf("%w, %v: %w", cluster.ErrLate, within, err)
		}
		select {
		case <-tick.C():
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// silence makes the kubelets of these instances seem silent.
func (t *trial) silence(ctx context.Context, instances []simulator.Instance) error {
	var names []string
	for _, i := range instances {
		names = append(names, i.Name)
	}
	return t.plane.Silence(ctx, names, t.clock.Now())
}

// until waits until check returns nil, and records the time since the beginning of the
// measurement. If check does not return nil in time, until records that.
func (t *trial) until(ctx context.Context, what string, within time.Duration, check func(map[string]*corev1.Node) error) error {
	err := t.nodes.Await(ctx, within-t.clock.Since(t.began.at), check)
	return t.took(err, what, t.clock.Since(t.began.at))
}

// took records the duration d of a wait. If err wraps cluster.ErrLate, it records that
// the wait did not end in time. It returns any other error.
func (t *trial) took(err error, what string, d time.Duration) error {
	switch {
	case errors.Is(err, cluster.ErrLate):
		t.note(report.Never(what, d))
	case err != nil:
		return err
	default:
		t.note(report.Took(what, d))
	}
	return t.failure()
}

// wait lets time pass.
func (t *trial) wait(ctx context.Context, d time.Duration) error {
	timer := t.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return t.failure()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// note adds a fact to the outcome.
func (t *trial) note(f report.Fact) {
	t.progress("%v", f)
	t.row.Outcome = append(t.row.Outcome, f)
}

// failure returns an error if the trial is invalid, because a process that
// should run has ended.
func (t *trial) failure() error {
	errs := []error{t.plane.Err()}
	if n := len(t.daemons); n > 0 {
		errs = append(errs, t.daemons[n-1].Err())
	}
	return errors.Join(errs...)
}

// firstGone returns a check of the Nodes. The check returns nil if one of the instances has
// no Node.
func firstGone(instances []simulator.Instance) func(map[string]*corev1.Node) error {
	return func(nodes map[string]*corev1.Node) error {
		if slices.ContainsFunc(instances, func(i simulator.Instance) bool { return nodes[i.Name] == nil }) {
			return nil
		}
		return errors.New("all Nodes are left")
	}
}

// gone returns a check of the Nodes. The check returns nil if none of the instances has a
// Node.
func gone(instances []simulator.Instance) func(map[string]*corev1.Node) error {
	return func(nodes map[string]*corev1.Node) error {
		left := slices.DeleteFunc(slices.Clone(instances), func(i simulator.Instance) bool { return nodes[i.Name] == nil })
		if len(left) > 0 {
			return fmt.Errorf("%d of %d Nodes are left", len(left), len(instances))
		}
		return nil
	}
}

// spread returns this many instances, at equal distances in the list. If the instances
// were neighbours, a measurement would depend on luck. A contender that asks in the
// order of the list could find all of them at once. A truncated list would lack all of
// them or none.
func spread(instances []simulator.Instance, size int) []simulator.Instance {
	var some []simulator.Instance
	for n := range size {
		some = append(some, instances[n*len(instances)/size])
	}
	return some
}
