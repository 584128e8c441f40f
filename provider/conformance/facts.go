package conformance

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// facts are what the suite finds out about the provider before its first check. A child
// process gets them from its parent.
type facts struct {
	// Singleton means that the provider can be made only once in a process.
	Singleton bool
	// Within is the time that is enough for a change to show, in spite of the provider's
	// caches.
	Within time.Duration

	twice    *finding // of the check twiceID; nil before that
	measured bool     // Within is known
}

func (f facts) String() string {
	text, _ := json.Marshal(f) // it cannot fail
	return string(text)
}

// changeTime measures how long a change takes to show. It is not a part of the report. A
// machine goes before a new one comes, because a cache without the new one may load all.
var changeTime = Check{ID: "suite/change-time", Needs: needs(needMachines), run: func(t *trial) {
	const longest = 30 * time.Second // of a cache
	t.target.EventuallyWithin = max(t.target.EventuallyWithin, longest)
	m := t.machine("before")
	t.metadataOf(m)
	_, _ = t.described(named(m)) // Now the caches have the machine.
	t.terminate(m)
	took := t.timed(func() error {
		if t.absent(joined(m)) == nil {
			return nil
		}
		return t.absent(named(m))
	})
	m = t.machine("after")
	t.measure(changeTimeKey, max(took, t.timed(func() error { _, err := t.described(named(m)); return err })).Seconds())
}}

// timed returns how long it takes until f returns nil.
func (t *trial) timed(f func() error) time.Duration {
	began := time.Now()
	t.eventually(f)
	return time.Since(began)
}

// changeTimeKey is the measurement of changeTime. It is in seconds.
const changeTimeKey = "changeTime"

// learn finds out what the check needs to know about the provider. An error is not
// reported, because the check then meets the same error.
func (s *suite) learn(ctx context.Context, check Check) {
	if childOf() != "" {
		return
	}
	if s.facts.twice == nil && s.child != nil {
		twice := processChecks[slices.IndexFunc(processChecks, func(c Check) bool { return c.ID == twiceID })]
		if found, err := s.inChild(ctx, twice); err == nil {
			made, survived := found.Measurements[providersKey]
			s.facts.twice, s.facts.Singleton = &found, found.Outcome == Failed && (!survived || made == 1)
		}
	}
	if !s.facts.measured && !s.target.Live && slices.Contains(check.Needs, needMachines) {
		if found, err := s.start(ctx, changeTime); err == nil {
			s.facts.measured, s.facts.Within = true, time.Duration(2*found.Measurements[changeTimeKey]*float64(time.Second))
			s.bePatient()
		}
	}
}

// bePatient gives checks the time that the caches of the provider need.
func (s *suite) bePatient() {
	if s.facts.Within > s.target.EventuallyWithin {
		s.target.EventuallyWithin = s.facts.Within
		s.options.Timeout = max(s.options.Timeout, 4*s.facts.Within) // a check may wait several times
	}
}
