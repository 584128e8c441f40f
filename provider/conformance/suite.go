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

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// Options say which checks are run, and how. The zero value runs all of them.
type Options struct {
	// Profiles are the profiles to run; empty means all.
	Profiles []Profile
	// Only are the IDs of the checks to run; empty means all.
	Only []string
	// Skip has the reason for each check that is not run, by ID.
	Skip map[string]string
	// ExpectFailure has the issue for each check that is known to fail, by ID. The key
	// "ID: TEXT" stands only for those failures of the check that contain TEXT, as the
	// report shows them, and every other failure of the check counts. If such a check passes,
	// or no failure contains TEXT, it counts as failed, so that the list stays true.
	ExpectFailure map[string]string
	// ReadOnly keeps the suite from changing the cloud. Checks that would change
	// it are not run.
	ReadOnly bool
	// Timeout bounds each check; 0 means a minute.
	Timeout time.Duration
	// Isolate runs each check in a child process, so Child must be set. This is slower,
	// but the report is complete even if the provider ends the process in the middle of
	// a call.
	Isolate bool
	// Ledger is told of each machine, load balancer, route and reserved address before it is
	// created, and after it was removed. It is told of each fault, too, if the world is a
	// FaultClearer, and of each hold if it is a HoldReleaser. It may be nil.
	Ledger Ledger
	// Progress is called after each check. It may be nil.
	Progress func(CheckResult)
	// Child returns the command that starts this program again, in such a way that it
	// calls Run with the same target and options. It is used for checks in which the
	// provider may end the process. If Child is nil, these checks are not run.
	Child func(ctx context.Context) *exec.Cmd
	// Reproduce is the command line of this run, for the report.
	Reproduce string
}

// Ledger remembers what a run has created, so that it can be removed after the run
// was interrupted.
type Ledger interface {
	// Begin is called before something is created. If it fails, nothing is created.
	Begin(Entry) error
	// End is called when the thing has been removed, or was never created.
	End(Entry) error
}

// Entry is something that the suite creates.
type Entry struct {
	Check   string       `json:"check"`
	Cluster string       `json:"cluster"`
	Kind    ResourceKind `json:"kind"`
	Name    string       `json:"name"`
	// ID is empty before the thing is created. Once it is known, Begin is called
	// again.
	ID         string `json:"id,omitempty"`
	ProviderID string `json:"providerID,omitempty"`
	// Twin means that this is the second machine with the name.
	Twin bool `json:"twin,omitempty"`
	// Foreign means that Foreigner.CreateForeign creates it, and that Name is the name or
	// the CIDR that it gets.
	Foreign bool `json:"foreign,omitempty"`
	// Service is set for the provider's load balancer, and is the Service that it belongs
	// to. Route is set for the provider's route.
	Service *corev1.Service      `json:"service,omitempty"`
	Route   *cloudprovider.Route `json:"route,omitempty"`
}

// Run runs the suite. It returns an error if the suite itself could not be run, such
// as when the world cannot be made. Mistakes of the provider are no error: they are
// in the report. In a child process that Options.Child has started, the report is
// nil.
func Run(ctx context.Context, target Target, options Options) (*Report, error) {
	s, err := newSuite(target, options)
	if err != nil {
		return nil, err
	}
	if id := childOf(); id != "" {
		return nil, s.runAsChild(ctx, id)
	}
	defer s.close()
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	for _, check := range s.checks {
		result, err := s.run(ctx, check)
		if err != nil {
			return nil, err
		}
		if options.Progress != nil {
			options.Progress(result)
		}
	}
	return s.report(), nil
}

// maxHangs is how many checks may hang until the others are no longer tried. Each
// check that hangs takes the whole Timeout.
const maxHangs = 3

// suite is one run.
type suite struct {
	target  Target
	options Options
	checks  []Check
	// expected are the entries of Options.ExpectFailure.
	expected []expectation
	// id is different for each run, and is a part of the names of what the run creates.
	id      string
	began   time.Time
	hangs   int
	stuck   error // why the fault or the hold of a check that has ended could not be ended
	results []CheckResult
	about   Provider

	// shared is the world that all checks share. It is nil if each check has its own, or
	// until the world is made. If the target is a Singleton, its one provider is in
	// singleton.
	shared    *world
	singleton cloudprovider.Interface
	stop      context.CancelFunc // of the singleton
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
	s.about = Provider{Name: target.Name, URL: target.URL, Contact: target.Contact}
	var err1, err2 error
	s.expected, err1 = options.expectations()
	s.checks, err2 = options.selected(s.expected)
	return s, errors.Join(err1, err2, options.unproven(target.Features.Supported))
}

// unproven returns an error if the target claims to support a feature, and all checks
// of that feature are skipped.
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

// selected returns the checks that the options name. An ID that no check has is an
// error, because a mistyped exception would have no effect.
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

// decide runs a check, or returns why it is not run.
func (s *suite) decide(ctx context.Context, check Check) (judged, error) {
	switch reason, skipped := s.options.Skip[check.ID]; {
	case skipped:
		return without(Skipped, reason), nil
	case ctx.Err() != nil:
		return without(NotRun, "the run was ended: "+context.Cause(ctx).Error()), nil //nolint:nilerr // the report says it
	case s.options.ReadOnly && check.Writes:
		return without(NotRun, "it changes the cloud, which is not allowed"), nil
	case slices.Contains(s.target.Features.Unsupported, check.Feature):
		return without(Unsupported, "the target says that "+string(check.Feature)+" is not supported"), nil
	case s.stuck != nil:
		return without(NotRun, s.stuck.Error()), nil //nolint:nilerr // the report says it
	case s.hangs >= maxHangs:
		return without(NotRun, fmt.Sprintf("the provider has hung in %d checks; the others are not tried", s.hangs)), nil
	case (check.Alone || s.options.Isolate) && childOf() == "":
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
		if !need.metBy(s.usable(around)) {
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

// usable returns what checks may use of a world.
func (s *suite) usable(whole any) any {
	if s.options.ReadOnly {
		return reading(whole)
	}
	return whole
}

// leave closes the world of a check, unless all checks share it.
func (s *suite) leave(around any) {
	if closer, ok := around.(io.Closer); ok && s.shared == nil {
		_ = closer.Close() // nothing depends on it
	}
}

// close ends what all checks have shared.
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
	r := &Report{
		APIVersion:  APIVersion,
		Kind:        Kind,
		Date:        s.began.UTC().Truncate(time.Second),
		Suite:       suiteOfThisBinary(),
		Provider:    s.about,
		Environment: environment(s.target.Live),
		Features:    Tried{Features: s.target.Features},
		Checks:      s.results,
		Reproduce:   s.options.Reproduce,
	}
	for _, f := range AllFeatures() {
		if !slices.Contains(s.target.Features.Supported, f) && !slices.Contains(s.target.Features.Unsupported, f) {
			r.Features.Undeclared = append(r.Features.Undeclared, f)
		}
	}
	r.summarize()
	return r
}
