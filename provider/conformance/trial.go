package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	cloudprovider "k8s.io/cloud-provider"
)

// trial is one run of a check. The function of the check uses it as a test uses
// testing.T. To end the check, methods such as failf call runtime.Goexit.
type trial struct {
	ctx   context.Context
	suite *suite
	check Check
	world any // the value that Target.World has returned
	// provider is the provider that the check uses.
	provider cloudprovider.Interface

	// cluster is the name of the check's cluster.
	cluster string

	mu           sync.Mutex
	stop         context.CancelFunc // guarded by mu; ends the provider
	outcome      Outcome            // guarded by mu; empty while nothing is decided
	why          []string
	measurements map[string]float64
	leftovers    []Resource
	calls        *Calls
	cleanups     []cleanup
	abandoned    bool
	explained    bool // guarded by mu; see the method explain
}

// cleanup undoes something that the check has done.
type cleanup struct {
	what string
	undo func(context.Context) error
}

func newTrial(ctx context.Context, s *suite, check Check, around any) *trial {
	t := &trial{
		ctx: ctx, suite: s, check: check, world: around, provider: s.singleton,
		cluster: s.target.ClusterName, measurements: map[string]float64{},
	}
	if t.cluster == "" {
		t.cluster = t.name("cluster")
	}
	return t
}

// namePrefix is the prefix of all names that the suite chooses.
const namePrefix = "fl-"

// name returns a name that is made of the run's random ID, the name of the check and the
// role. Checks of two profiles may have the same name.
func (t *trial) name(role string) string {
	const longest = 63 // the name of a Service must be a DNS label
	name := namePrefix + t.suite.id + "-" + t.check.name()
	return strings.TrimRight(name[:min(len(name), longest-len(role)-1)], "-") + "-" + role
}

// decide sets the outcome, but never changes a failure into another outcome. The caller
// holds mu.
func (t *trial) decide(o Outcome, why string) {
	if t.abandoned {
		return
	}
	if t.outcome != Failed {
		t.outcome = o
		if o == Failed {
			t.why = nil
		}
	}
	if t.outcome == o {
		t.why = append(t.why, why)
	}
}

// end sets the outcome and ends the check.
func (t *trial) end(o Outcome, why string) {
	t.mu.Lock()
	t.decide(o, why)
	t.explained = true
	t.mu.Unlock()
	runtime.Goexit()
}

// failf fails the check and ends it. The text names the call, its result and the
// wanted result.
func (t *trial) failf(format string, args ...any) { t.end(Failed, fmt.Sprintf(format, args...)) }

// errorf fails the check and goes on.
func (t *trial) errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.decide(Failed, fmt.Sprintf(format, args...))
}

// notRunf ends the check because the world or the target lacks something.
func (t *trial) notRunf(format string, args ...any) { t.end(NotRun, fmt.Sprintf(format, args...)) }

// unsupportedf ends the check because the provider says that it does not offer what
// the check tests.
func (t *trial) unsupportedf(format string, args ...any) {
	t.end(Unsupported, fmt.Sprintf(format, args...))
}

// must ends the check if the world has failed. If the error wraps ErrCannot, the
// check does not fail: its outcome is NotRun.
func (t *trial) must(what string, err error) {
	switch {
	case errors.Is(err, ErrCannot):
		t.notRunf("%s: %v", what, err)
	case err != nil:
		t.failf("world: %s: %v", what, err)
	}
}

// measure adds a number to the report.
func (t *trial) measure(key string, value float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.abandoned {
		t.measurements[key] = value
	}
}

// cleanup registers a function that runs after the check. The function that was
// registered last runs first. If the suite has abandoned the check, this method ends the
// check's goroutine instead.
func (t *trial) cleanup(what string, undo func(context.Context) error) {
	t.mu.Lock()
	abandoned := t.abandoned
	if !abandoned {
		t.cleanups = append(t.cleanups, cleanup{what, undo})
	}
	t.mu.Unlock()
	if abandoned {
		runtime.Goexit()
	}
}

// eventually calls f until it returns nil. The check fails with the last error if
// the cloud takes longer than the target allows.
func (t *trial) eventually(f func() error) {
	if err := t.await(f); err != nil {
		t.failf("%v", err)
	}
}

// await calls f until it returns nil. If the cloud takes longer than the target allows,
// await returns the last error of f.
func (t *trial) await(f func() error) error {
	ctx, cancel := context.WithTimeout(t.ctx, t.suite.target.EventuallyWithin)
	defer cancel()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := f()
		if err == nil {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// start makes the provider, unless all checks share one provider or the check makes its
// own.
func (t *trial) start() {
	if t.provider == nil && !t.check.bare {
		t.restart()
	}
}

// refresh replaces the provider with a new one, which remembers nothing. If the
// target is a Singleton, refresh does nothing.
func (t *trial) refresh() {
	if !t.suite.target.Singleton {
		t.restart()
	}
}

// restart makes a new provider, as after a restart of the daemon.
func (t *trial) restart() {
	if t.provider != nil && t.suite.target.Singleton {
		t.notRunf("needs a provider that can be made twice in a process")
	}
	t.endProvider()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.ctx))
	t.mu.Lock()
	t.stop = stop
	t.mu.Unlock()
	made, err := t.suite.target.New(ctx, t.world)
	switch {
	case err != nil:
		t.failf("New: %v", err)
	case made == nil:
		t.failf("New returned nil and no error")
	}
	t.provider = made
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.suite.target.Singleton && !t.abandoned {
		t.suite.singleton, t.suite.stop, t.stop = made, stop, nil
	}
}

// endProvider closes the stop channel of the provider.
func (t *trial) endProvider() {
	t.mu.Lock()
	stop := t.stop
	t.stop = nil
	t.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// instances returns the provider's InstancesV2.
func (t *trial) instances() cloudprovider.InstancesV2 {
	v2, ok := t.provider.InstancesV2()
	if !ok {
		t.unsupportedf("the provider %s offers no InstancesV2", t.suite.target.Name)
	}
	if v2 == nil {
		t.failf("InstancesV2() = nil, true")
	}
	return v2
}

// loadBalancer returns the provider's LoadBalancer.
func (t *trial) loadBalancer() cloudprovider.LoadBalancer {
	lb, ok := t.provider.LoadBalancer()
	if !ok {
		t.unsupportedf("the provider offers no LoadBalancer")
	}
	if lb == nil {
		t.failf("LoadBalancer() = nil, true")
	}
	return lb
}

// routes returns the provider's Routes.
func (t *trial) routes() cloudprovider.Routes {
	routes, ok := t.provider.Routes()
	if !ok {
		t.unsupportedf("the provider offers no Routes")
	}
	if routes == nil {
		t.failf("Routes() = nil, true")
	}
	return routes
}

// finish runs the cleanups, the last one first, and looks for leftovers.
func (t *trial) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, t.suite.options.Timeout)
	defer cancel()
	t.mu.Lock()
	cleanups := slices.Clone(t.cleanups)
	t.mu.Unlock()
	for _, c := range slices.Backward(cleanups) {
		t.guard(ctx, "cleanup: "+c.what, func() {
			if err := c.undo(ctx); err != nil && !errors.Is(err, ErrCannot) {
				t.errorf("cleanup: %s: %v", c.what, err)
			}
		})
	}
	t.guard(ctx, "world", func() { t.lookBack(ctx) })
	t.endProvider()
}

// lookBack asks the world for the calls of the check and for leftovers.
func (t *trial) lookBack(ctx context.Context) {
	var calls *Calls
	if meter, ok := t.world.(Meter); ok && !t.suite.target.Shared {
		if counted, err := meter.Calls(ctx); err == nil {
			calls = &counted
		}
	}
	var left []Resource
	if inventory, ok := t.world.(Inventory); ok && t.check.Writes {
		var err error
		if left, err = inventory.Leftovers(ctx, t.cluster); err != nil && !errors.Is(err, ErrCannot) {
			t.errorf("world: what is left: %v", err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls, t.leftovers = calls, left
}
