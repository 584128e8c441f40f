package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"time"

	cloudprovider "k8s.io/cloud-provider"
)

// Options selects the checks and says how to run them. The zero value selects all checks.
type Options struct {
	// Profiles lists the profiles to run. Empty means all profiles.
	Profiles []Profile
	// Only lists the IDs of the checks to run. Empty means all checks.
	Only []string
	// Skip lists the checks that are not run. The key is the ID of the check, and the value
	// is the reason.
	Skip map[string]string
	// ExpectFailure lists the checks that are known to fail. The key is the ID of the check,
	// and the value is the issue that tracks the failure. A key can also be "ID: TEXT". Then
	// a failure is expected only if its text in the report contains TEXT. Every other
	// failure of the check counts. If an expected failure does not happen, the check counts
	// as failed, so that nobody forgets to remove the entry.
	ExpectFailure map[string]string
	// Timeout is the time limit of each check. 0 means a minute.
	Timeout time.Duration
	// Child returns a command that starts this program again. The new process must
	// call Run with the same target and options. Child is used for checks in which
	// the provider may end the process. If Child is nil, these checks are not run.
	Child func(ctx context.Context) *exec.Cmd
}

// Run runs the suite. It returns an error if the suite itself could not be run, for
// example because the world could not be made. Mistakes of the provider are in the
// report and not in the error. In a child process that Options.Child has started,
// the report is nil.
func Run(ctx context.Context, target Target, options Options) (*Report, error) {
	s, err := newSuite(target, options)
	if err != nil {
		return nil, err
	}
	if id := childOf(); id != "" {
		return nil, s.runAsChild(ctx, id)
	}
	defer s.close()
	for _, check := range s.checks {
		if _, err := s.run(ctx, check); err != nil {
			return nil, err
		}
	}
	return s.report(), nil
}

// maxHangs is the number of checks that may hang. After that, no more checks are run,
// because each check that hangs takes the whole Timeout.
const maxHangs = 3

// suite is one run.
type suite struct {
	target  Target
	options Options
	checks  []Check
	// expected are the entries of Options.ExpectFailure.
	expected []expectation
	// id differs between runs. It is a part of the names of all things that the run creates.
	id      string
	began   time.Time
	hangs   int
	results []CheckResult

	// shared is the world that all checks share. It is nil if each check has its own
	// world, and before the shared world is made. If Target.Singleton is set, all checks
	// share one provider, in the field singleton.
	shared    *world
	singleton cloudprovider.Interface
	stop      context.CancelFunc // stops the singleton
}

func newSuite(target Target, options Options) (*suite, error) {
	if target.Name == "" || target.New == nil {
		return nil, errors.New("a Target needs a Name and a New")
	}
	target.Shared = target.Shared || target.Singleton
	if target.EventuallyWithin == 0 {
		target.EventuallyWithin = 30 * time.Second
	}
	if options.Timeout == 0 {
		options.Timeout = time.Minute
	}
	s := &suite{
		target:  target,
		options: options,
		id:      strconv.FormatUint(rand.Uint64()%(36*36*36*36), 36), //nolint:gosec // a name and not a secret
		began:   time.Now(),
	}
	var err1, err2 error
	s.expected, err1 = options.expectations()
	s.checks, err2 = options.selected(s.expected)
	return s, errors.Join(err1, err2, options.unproven(target.Features.Supported))
}

// unproven returns an error if all checks of a supported feature are skipped.
func (o Options) unproven(supported []Feature) error {
	checks, skipped := map[Feature]int{}, map[Feature]int{}
	for _, c := range Checks() {
		checks[c.Feature]++
		if o.Skip[c.ID] != "" {
			skipped[c.Feature]++
		}
	}
	var problems []error
	for _, f := range supported {
		if checks[f] > 0 && checks[f] == skipped[f] {
			problems = append(problems, fmt.Errorf("all checks of the feature %s are skipped: do not call it supported", f))
		}
	}
	return errors.Join(problems...)
}

// selected returns the checks that the options select. An unknown ID is an error,
// because otherwise a mistyped ID would have no effect.
func (o Options) selected(expected []expectation) ([]Check, error) {
	all := Checks()
	var problems []error
	named := func(id string, excepted bool, why string) {
		switch known := slices.ContainsFunc(all, func(c Check) bool { return c.ID == id }); {
		case !known:
			problems = append(problems, fmt.Errorf("there is no check %q", id))
		case excepted && why == "":
			problems = append(problems, fmt.Errorf("check %s: say why it is skipped or expected to fail", id))
		}
	}
	for _, id := range o.Only {
		named(id, false, "")
	}
	for _, id := range slices.Sorted(maps.Keys(o.Skip)) {
		named(id, true, o.Skip[id])
	}
	for _, e := range expected {
		named(e.id, true, e.issue)
	}
	for _, p := range o.Profiles {
		if !slices.Contains(Profiles(), p) {
			problems = append(problems, fmt.Errorf("there is no profile %q", p))
		}
	}
	return slices.DeleteFunc(all, func(c Check) bool {
		return len(o.Only) > 0 && !slices.Contains(o.Only, c.ID) || len(o.Profiles) > 0 && !slices.Contains(o.Profiles, c.Profile())
	}), errors.Join(problems...)
}

// run runs one check and adds its result to the report.
func (s *suite) run(ctx context.Context, check Check) (CheckResult, error) {
	began := time.Now()
	found, err := s.decide(ctx, check)
	if err != nil {
		return found.CheckResult, fmt.Errorf("%s: %w", check.ID, err)
	}
	result := found.compare(s.expectedOf(check))
	result.ID, result.Title, result.Level, result.Seconds = check.ID, check.Title, check.Level, seconds(time.Since(began))
	if result.Outcome == Failed || result.Outcome == ExpectedFailure {
		result.Source, result.Cost = check.Source, check.Cost
	}
	s.results = append(s.results, result)
	return result, nil
}

// decide runs a check. If the check must not be run, the result says why.
func (s *suite) decide(ctx context.Context, check Check) (judged, error) {
	switch reason, skipped := s.options.Skip[check.ID]; {
	case skipped:
		return without(Skipped, reason), nil
	case ctx.Err() != nil:
		return without(NotRun, "the run was ended: "+context.Cause(ctx).Error()), nil //nolint:nilerr // the report says it
	case slices.Contains(s.target.Features.Unsupported, check.Feature):
		return without(Unsupported, "the target says that "+string(check.Feature)+" is not supported"), nil
	case s.hangs >= maxHangs:
		return without(NotRun, fmt.Sprintf("the provider has hung in %d checks, so no more checks are run", s.hangs)), nil
	case check.Alone && childOf() == "":
		return s.runInChild(ctx, check), nil
	}
	return s.try(ctx, check)
}

// world is the value that Target.World has returned.
type world struct{ any }

// try runs a check in this process.
func (s *suite) try(ctx context.Context, check Check) (judged, error) {
	around, err := s.world(ctx)
	if err != nil {
		return judged{}, err
	}
	defer s.leave(around)
	for _, need := range check.Needs {
		if !need.metBy(around) {
			return without(NotRun, "needs "+string(need)), nil
		}
	}
	checking, cancel := context.WithTimeoutCause(ctx, s.options.Timeout, fmt.Errorf("the check has taken %v", s.options.Timeout))
	defer cancel()
	t := newTrial(checking, s, check, around)
	if t.guard(checking, check.ID, func() { t.start(); check.run(t) }) { //nolint:contextcheck // the provider lives as long as the check
		s.hangs++
	}
	t.finish(context.WithoutCancel(ctx))
	return t.result(), nil
}

// world returns the world of a check.
func (s *suite) world(ctx context.Context) (any, error) {
	if s.shared != nil {
		return s.shared.any, nil
	}
	var made any
	if s.target.World != nil {
		var err error
		if made, err = s.target.World(ctx); err != nil {
			return nil, fmt.Errorf("world: %w", err)
		}
	}
	if s.target.Shared {
		s.shared = &world{made}
	}
	return made, nil
}

// leave closes the world of a check, unless all checks share it.
func (s *suite) leave(around any) {
	if closer, ok := around.(io.Closer); ok && s.shared == nil {
		_ = closer.Close() // nothing depends on the error
	}
}

// close closes the shared provider and the shared world.
func (s *suite) close() {
	if s.stop != nil {
		s.stop()
	}
	if shared := s.shared; shared != nil {
		s.shared = nil
		s.leave(shared.any)
	}
}

// report returns the report of the checks that were run.
func (s *suite) report() *Report {
	r := &Report{Checks: s.results, race: race}
	r.summarize()
	return r
}
