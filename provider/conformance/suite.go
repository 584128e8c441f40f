package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"time"
)

// Options selects the checks and says how to run them. The zero value selects all checks.
type Options struct {
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
	// Timeout is the time limit of each check. 0 means a minute. If the provider's caches show
	// changes late, the limit may be longer.
	Timeout time.Duration
}

// Checks returns all checks, in the order in which they run.
func Checks() []Check {
	return slices.Concat(
		identityChecks, goneChecks, changeChecks, faultChecks, answerChecks, timeChecks, costChecks,
		creationChecks, deletionChecks, nodeChecks, fieldChecks(), troubleChecks, routeChecks,
		fastInstanceChecks, terminationChecks, fastChangeChecks, processChecks,
	)
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
	// child returns a command that starts this program again, for the checks in which the
	// provider may end the process.
	child func(context.Context) *exec.Cmd
	// id differs between runs. It is a part of the names of all things that the run creates.
	id      string
	hangs   int
	facts   facts
	results []CheckResult

	// shared is the world that all checks share. It is nil if each check has its own
	// world, and before the shared world is made.
	shared any
}

func newSuite(target Target, options Options, child func(context.Context) *exec.Cmd) (*suite, error) {
	if target.Name == "" || target.New == nil {
		return nil, errors.New("a Target needs a Name and a New")
	}
	if target.EventuallyWithin == 0 {
		target.EventuallyWithin = 30 * time.Second
	}
	if options.Timeout == 0 {
		options.Timeout = time.Minute
	}
	expected, err := options.expectations()
	s := &suite{
		target: target, options: options, expected: expected, child: child,
		checks: slices.DeleteFunc(Checks(), func(c Check) bool { return len(options.Only) > 0 && !slices.Contains(options.Only, c.ID) }),
		id:     strconv.FormatUint(rand.Uint64()%(36*36*36*36), 36), //nolint:gosec // a name and not a secret
	}
	return s, errors.Join(err, s.validate())
}

// validate returns an error if the options name an unknown check, because otherwise a
// mistyped ID would have no effect. It also returns an error if the options give no
// reason, or skip all checks of a supported feature.
func (s *suite) validate() error {
	var problems []error
	excepted := slices.Sorted(maps.Keys(s.options.Skip))
	for _, id := range excepted {
		if s.options.Skip[id] == "" {
			problems = append(problems, fmt.Errorf("check %s: say why it is skipped", id))
		}
	}
	for _, e := range s.expected {
		if excepted = append(excepted, e.id); e.issue == "" {
			problems = append(problems, fmt.Errorf("check %s: say why it is expected to fail", e.id))
		}
	}
	all := Checks()
	for _, id := range append(excepted, s.options.Only...) {
		if !slices.ContainsFunc(all, func(c Check) bool { return c.ID == id }) {
			problems = append(problems, fmt.Errorf("there is no check %q", id))
		}
	}
	for _, f := range s.target.Features.Supported {
		if !slices.ContainsFunc(all, func(c Check) bool { return c.Feature == f && s.options.Skip[c.ID] == "" }) {
			problems = append(problems, fmt.Errorf("all checks of the feature %s are skipped: do not call it supported", f))
		}
	}
	return errors.Join(problems...)
}

// run runs one check and adds its result to the report.
func (s *suite) run(ctx context.Context, check Check) (CheckResult, error) {
	found, err := s.decide(ctx, check)
	if err != nil {
		return CheckResult{}, fmt.Errorf("%s: %w", check.ID, err)
	}
	result := found.compare(check, s.expected)
	s.results = append(s.results, result)
	return result, nil
}

// decide runs a check. If the check must not be run, the result says why.
func (s *suite) decide(ctx context.Context, check Check) (finding, error) {
	switch reason, skipped := s.options.Skip[check.ID]; {
	case skipped:
		return concluded(Skipped, reason), nil
	case ctx.Err() != nil:
		return concluded(NotRun, "the run was ended: "+context.Cause(ctx).Error()), nil //nolint:nilerr // the report says it
	case slices.Contains(s.target.Features.Unsupported, check.Feature):
		return concluded(Unsupported, "the target says that "+string(check.Feature)+" is not supported"), nil
	case s.hangs >= maxHangs:
		return concluded(NotRun, fmt.Sprintf("the provider has hung in %d checks, so no more checks are run", s.hangs)), nil
	}
	s.learn(ctx, check)
	if check.ID == twiceID && s.facts.twice != nil {
		return *s.facts.twice, nil
	}
	return s.start(ctx, check)
}

// start runs a check in this process, or in a child process if the provider may end the
// process.
func (s *suite) start(ctx context.Context, check Check) (finding, error) {
	if childOf() == "" && (s.facts.Singleton || path.Dir(check.ID) == "process") {
		return s.inChild(ctx, check)
	}
	return s.try(ctx, check)
}

// try runs a check in this process.
func (s *suite) try(ctx context.Context, check Check) (finding, error) {
	around, err := s.world(ctx)
	if err != nil {
		return finding{}, err
	}
	if s.shared == nil {
		defer closeWorld(around)
	}
	if missing := check.lacks(around); missing != nil {
		return concluded(NotRun, "needs "+missing.Name()), nil
	}
	checking, cancel := context.WithTimeoutCause(ctx, s.options.Timeout, fmt.Errorf("the check has taken %v", s.options.Timeout))
	defer cancel()
	t := &trial{ctx: checking, check: check, target: s.target, timeout: s.options.Timeout, run: s.id, world: around, singleton: s.facts.Singleton}
	t.cluster = cmp.Or(s.target.ClusterName, t.name("cluster"))
	start := func() { //nolint:contextcheck // the provider lives as long as the check
		if !check.bare {
			t.restart()
		}
		check.run(t)
	}
	if t.guard(checking, check.ID, start) {
		s.hangs++
	}
	t.finish(context.WithoutCancel(ctx))
	return t.result(), nil
}

// runAsChild runs the check and writes what it finds to the parent's file.
func (s *suite) runAsChild(ctx context.Context, id string) error {
	defer s.close()
	if text := os.Getenv(childFacts); text != "" {
		if err := json.Unmarshal([]byte(text), &s.facts); err != nil {
			return err
		}
	}
	s.bePatient()
	for _, check := range append(Checks(), changeTime) {
		if check.ID != id {
			continue
		}
		found, err := s.try(ctx, check)
		if err != nil {
			return err
		}
		text, err := json.Marshal(found)
		if err != nil {
			return err
		}
		return os.WriteFile(os.Getenv(childResult), text, 0o600) //nolint:gosec // the parent has named the file
	}
	return fmt.Errorf("there is no check %q", id)
}

// world returns the world of a check.
func (s *suite) world(ctx context.Context) (any, error) {
	if s.shared != nil {
		return s.shared, nil
	}
	if s.target.World == nil {
		return nil, nil
	}
	made, err := s.target.World(ctx)
	if err != nil {
		return nil, fmt.Errorf("world: %w", err)
	}
	if s.target.Shared {
		s.shared = made
	}
	return made, nil
}

// close closes the shared world.
func (s *suite) close() { closeWorld(s.shared) }

func closeWorld(world any) {
	if closer, ok := world.(io.Closer); ok {
		_ = closer.Close() // nothing depends on the error
	}
}
