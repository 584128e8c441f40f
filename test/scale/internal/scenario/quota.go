package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// quotas returns the scenarios with the request quotas of well-known clouds.
func quotas() []Scenario {
	var all []Scenario
	for _, profile := range simulator.QuotaProfiles() {
		all = append(all, underQuota(profile))
	}
	return all
}

// underQuota returns the life of a cluster under the quota of a cloud: its Nodes are
// initialised while the quota is used up, it is idle, and then it gets Services.
func underQuota(profile string) Scenario {
	return Scenario{
		Name: "quota-" + profile,
		What: func(s Settings) string {
			return fmt.Sprintf("The request quota is that of %s, and used up when the daemon starts. %d uninitialised Nodes are there; then nothing happens for %v; "+
				"then, with the quota that an hour of this leaves, %d Services of type LoadBalancer are created, one Node joins, and the Services are deleted. The provider has no fast paths.",
				profile, s.Nodes, s.IdleFor, s.Services)
		},
		Provider:  contender.Simulated,
		FastPaths: Off,
		Quota:     profile,
		Flags:     noFlags,
		Size: func(s Settings) Settings {
			s.Nodes, s.Services = min(s.Nodes, 300), min(s.Services, 20)
			return s
		},
		run: func(ctx context.Context, t *trial) error {
			buckets, _ := simulator.QuotaProfile(profile) // The names come from QuotaProfiles.
			if err := t.initializeEmpty(ctx, buckets); err != nil {
				return err
			}
			if err := t.idleHour(ctx, buckets); err != nil {
				return err
			}
			return t.serve(ctx)
		},
	}
}

// initializeEmpty initialises all Nodes, from empty buckets.
func (t *trial) initializeEmpty(ctx context.Context, buckets []simulator.Fault) error {
	if _, err := t.fleet(ctx, uninitialized); err != nil {
		return err
	}
	if err := t.fill(ctx, buckets, func(simulator.Fault) int { return 0 }); err != nil {
		return err
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	if _, err := t.replica(); err != nil {
		return err
	}
	needs := bucketsNeed(buckets, t.Nodes)
	if err := t.until(ctx, report.AllInitialized, 5*time.Minute+4*needs, allInitialized); err != nil {
		return err
	}
	made, err := t.tally(ctx)
	if err != nil {
		return err
	}
	t.note(report.Took(report.QuotaNeeds, needs))
	t.note(report.Number(report.CallsByThen, made.calls, 0))
	t.note(report.Number(report.RefusedByThen, made.refused, 0))
	return t.calm(ctx)
}

// bucketsNeed returns the shortest time in which empty buckets allow this many Nodes to
// be initialised. Each Node has to be found by its name, with a list.
func bucketsNeed(buckets []simulator.Fault, nodes int) time.Duration {
	var needs float64
	for _, b := range buckets {
		if limits(b, simulator.ListInstances) {
			needs = max(needs, float64(nodes)/b.Rate)
		}
	}
	return time.Duration(needs * float64(time.Second))
}

// limits reports whether the bucket limits the call.
func limits(bucket simulator.Fault, call simulator.Call) bool {
	return len(bucket.Calls) == 0 || slices.Contains(bucket.Calls, call)
}

// fill sets the buckets of the cloud. The function tokens returns what is in a bucket.
func (t *trial) fill(ctx context.Context, buckets []simulator.Fault, tokens func(simulator.Fault) int) error {
	for _, b := range buckets {
		left := tokens(b)
		b.Tokens = &left
		if err := t.cloud.SetFault(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// idleHour measures what the idle daemon uses of each bucket. Then it fills the buckets
// as if an hour had passed in this way.
func (t *trial) idleHour(ctx context.Context, buckets []simulator.Fault) error {
	began := t.clock.Now()
	before, err := t.tally(ctx)
	if err != nil {
		return err
	}
	if err := t.wait(ctx, t.IdleFor); err != nil {
		return err
	}
	after, err := t.tally(ctx)
	if err != nil {
		return err
	}
	took := t.clock.Since(began)
	used := after.since(before)
	for _, b := range buckets {
		t.note(report.Quantity(report.IdleUse+b.Name, 100*used.rate(b, took)/b.Rate, "% of its rate"))
	}
	t.note(report.Quantity(report.CallsWhileIdle, float64(used.calls)/took.Minutes(), "a minute"))
	t.note(report.Number(report.IdleRefused, used.refused, 0))
	now, err := t.cloud.Faults(ctx)
	if err != nil {
		return err
	}
	return t.fill(ctx, now, func(b simulator.Fault) int { return afterHour(b, used.rate(b, took)) })
}

// afterHour returns how many tokens a bucket has in an hour, if this many calls a second
// use it.
func afterHour(bucket simulator.Fault, use float64) int {
	gained := int((bucket.Rate - use) * time.Hour.Seconds())
	return max(0, min(bucket.Burst, *bucket.Tokens+gained))
}

// serve creates Services, lets a Node join, and deletes the Services.
func (t *trial) serve(ctx context.Context) error {
	for _, step := range []struct {
		what, refused string
		change        func() error
		done          func() error
	}{
		{
			report.AllExposed, report.ExposingRefused,
			func() error { return t.plane.Expose(ctx, t.Services) },
			func() error { return t.whole(ctx, t.Nodes) },
		},
		{
			report.AllBackends, report.JoiningRefused,
			func() error { _, err := t.join(ctx, 1, uninitialized); return err },
			func() error { return t.whole(ctx, t.Nodes+1) },
		},
		{
			report.AllGone, report.DeletionRefused,
			func() error { return t.plane.Unexpose(ctx) },
			func() error { return t.unexposed(ctx) },
		},
	} {
		began := t.clock.Now()
		before, err := t.tally(ctx)
		if err != nil {
			return err
		}
		if err := step.change(); err != nil {
			return err
		}
		err = t.poll(ctx, servicesWithin, step.done)
		if err := t.took(err, step.what, t.clock.Since(began)); err != nil {
			return err
		}
		after, err := t.tally(ctx)
		if err != nil {
			return err
		}
		t.note(report.Number(step.refused, after.since(before).refused, 0))
	}
	return t.rest(ctx)
}

// tally has the numbers of calls so far.
type tally struct {
	calls, refused int
	allowed        map[simulator.Call]int
}

// tally returns the numbers of calls since the beginning of the measurement.
func (t *trial) tally(ctx context.Context) (tally, error) {
	calls, err := t.cloud.Calls(ctx)
	if err != nil {
		return tally{}, err
	}
	made := tally{calls: int(calls.Count()), refused: refused(calls), allowed: map[simulator.Call]int{}}
	for _, c := range calls.Counters {
		if c.Result != simulator.CodeThrottled {
			made.allowed[c.Call] += int(c.Count)
		}
	}
	return made, nil
}

// since returns the calls that were made after an earlier tally.
func (t tally) since(before tally) tally {
	made := tally{calls: t.calls - before.calls, refused: t.refused - before.refused, allowed: map[simulator.Call]int{}}
	for call, n := range t.allowed {
		made.allowed[call] = n - before.allowed[call]
	}
	return made
}

// rate returns how many tokens of a bucket the calls have used in a second.
func (t tally) rate(bucket simulator.Fault, within time.Duration) float64 {
	used := 0
	for call, n := range t.allowed {
		if limits(bucket, call) {
			used += n
		}
	}
	return float64(used) / within.Seconds()
}
