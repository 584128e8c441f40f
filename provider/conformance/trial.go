package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
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
	ctx     context.Context
	check   Check
	target  Target
	timeout time.Duration // of the check, and of its cleanup
	run     string        // the ID of the run
	world   any           // the value that Target.World has returned
	// singleton means that the process can have no second provider.
	singleton bool
	// provider is the provider that the check uses.
	provider cloudprovider.Interface
	// cluster is the name of the check's cluster.
	cluster string

	mu        sync.Mutex         // guards the fields below
	stop      context.CancelFunc // ends the provider
	found     finding
	cleanups  []cleanup
	abandoned bool
	explained bool // see the method explain
}

// finding is what a check has found.
type finding struct {
	Outcome Outcome // empty while nothing is decided
	// Why has an element for each failure. If the check has not failed, it has the reason
	// of the outcome.
	Why          []string
	Measurements map[string]float64
	Leftovers    []Resource
}

// concluded returns a finding with one reason.
func concluded(o Outcome, why string) finding { return finding{Outcome: o, Why: []string{why}} }

// cleanup undoes something that the check has done.
type cleanup struct {
	what string
	undo func(context.Context) error
}

// as returns the world as one of the interfaces that the check needs.
func as[T any](t *trial) T { return t.world.(T) } //nolint:forcetypeassert // the check says that it needs one

// name returns a name that is made of the run's random ID, the name of the check and the
// role. Checks of two groups may have the same name.
func (t *trial) name(role string) string {
	const longest = 63 // the name of a Service must be a DNS label
	name := "fl-" + t.run + "-" + path.Base(t.check.ID)
	return strings.TrimRight(name[:min(len(name), longest-len(role)-1)], "-") + "-" + role
}

// decide sets the outcome, but never changes a failure into another outcome. The caller
// holds mu.
func (t *trial) decide(o Outcome, why string) {
	switch {
	case t.abandoned, t.found.Outcome == Failed && o != Failed:
	case t.found.Outcome == o:
		t.found.Why = append(t.found.Why, why)
	default:
		t.found.Outcome, t.found.Why = o, []string{why}
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

// unproved lets the check go on, and go on failing, but not pass.
func (t *trial) unproved(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.found.Why, why) {
		t.decide(NotRun, why)
	}
}

// notRunf ends the check because the world or the target lacks something.
func (t *trial) notRunf(format string, args ...any) { t.end(NotRun, fmt.Sprintf(format, args...)) }

// unsupportedf ends the check because the provider says that it does not offer what
// the check tests.
func (t *trial) unsupportedf(format string, args ...any) {
	t.end(Unsupported, fmt.Sprintf(format, args...))
}

// ofWorld is the prefix of a failure of the world, such as "world: set fault garbage: …".
const ofWorld = "world: "

// must ends the check if the world has failed. If the error wraps ErrCannot, the
// check does not fail: its outcome is NotRun.
func (t *trial) must(what string, err error) {
	switch {
	case errors.Is(err, ErrCannot):
		t.notRunf("%s: %v", what, err)
	case err != nil:
		t.failf(ofWorld+"%s: %v", what, err)
	}
}

// measure adds a number to the report.
func (t *trial) measure(key string, value float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.abandoned {
		if t.found.Measurements == nil {
			t.found.Measurements = map[string]float64{}
		}
		t.found.Measurements[key] = value
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
	return t.retry(10*time.Millisecond, f, func(err error) bool { return err != nil })
}

// retry calls f again while the given function asks for that, with growing pauses, but not
// for longer than the target allows. Even on a slow machine, f gets a second call.
func (t *trial) retry(pause time.Duration, f func() error, again func(error) bool) error {
	ctx, cancel := context.WithTimeout(t.ctx, t.target.EventuallyWithin)
	defer cancel()
	for n := 0; ; n, pause = n+1, min(2*pause, time.Second) {
		last := n > 0 && ctx.Err() != nil
		err := f()
		if last || !again(err) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// restart makes a new provider, which remembers nothing, as after a restart of the daemon. A
// singleton stays, so the check can only find a failure.
func (t *trial) restart() {
	if t.singleton && t.provider != nil {
		t.unproved("needs a second provider, and this one can be made only once in a process")
		return
	}
	t.endProvider()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.ctx))
	t.mu.Lock()
	t.stop = stop
	t.mu.Unlock()
	made, err := t.target.New(ctx, t.world)
	switch {
	case err != nil:
		t.failf("New: %v", err)
	case made == nil:
		t.failf("New returned nil and no error")
	}
	t.provider = made
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

// part returns a part of the provider, such as its Routes.
func part[T comparable](t *trial, name string, accessor func() (T, bool)) T {
	var none T
	found, ok := accessor()
	if !ok {
		t.unsupportedf("the provider %s offers no %s", t.target.Name, name)
	}
	if found == none {
		t.failf("%s() = nil, true", name)
	}
	return found
}

func (t *trial) instances() cloudprovider.InstancesV2 {
	return part(t, "InstancesV2", t.provider.InstancesV2)
}

func (t *trial) loadBalancer() cloudprovider.LoadBalancer {
	return part(t, "LoadBalancer", t.provider.LoadBalancer)
}

func (t *trial) routes() cloudprovider.Routes { return part(t, "Routes", t.provider.Routes) }

// finish runs the cleanups, the last one first, and asks the world what is left.
func (t *trial) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
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
	inventory, ok := t.world.(Inventory)
	if ok {
		t.guard(ctx, "world", func() {
			left, err := inventory.Leftovers(ctx, t.cluster)
			if err != nil && !errors.Is(err, ErrCannot) {
				t.errorf(ofWorld+"what is left: %v", err)
			}
			t.mu.Lock()
			defer t.mu.Unlock()
			t.found.Leftovers = left
		})
	}
	t.endProvider()
}

// result returns what the check has found.
func (t *trial) result() finding {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.found
	found.Outcome, found.Why = cmp.Or(found.Outcome, Passed), slices.Clone(found.Why)
	for n := range found.Why { // so that reports can be compared
		found.Why[n] = strings.ReplaceAll(found.Why[n], "fl-"+t.run+"-", "fl-…-")
	}
	return found
}
