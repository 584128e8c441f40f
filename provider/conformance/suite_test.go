package conformance_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// The IDs of the checks are unique, and each check has all texts for a report.
func TestChecksAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range conformance.Checks() {
		if seen[c.ID] {
			t.Errorf("%s is there twice", c.ID)
		}
		seen[c.ID] = true
		if c.Title == "" || c.Source == "" || c.Cost == "" || c.Level == "" || !strings.Contains(c.ID, "/") {
			t.Errorf("%s lacks its group, title, source, cost or level: %+v", c.ID, c)
		}
	}
}

// Options are refused in these cases: they name an unknown check, they
// give no reason, or they skip all checks of a supported feature.
func TestOptionsAreRefused(t *testing.T) {
	for want, options := range map[string]conformance.Options{
		`there is no check "instances/gone"`:  {Only: []string{"instances/gone"}},
		`there is no check "instances/gone2"`: {Skip: map[string]string{"instances/gone2": "because"}},
		`there is no check "instances/gone3"`: {ExpectFailure: map[string]string{"instances/gone3": "#1"}},
		`instances/by-id: say why`:            {Skip: map[string]string{"instances/by-id": ""}},
		`there is no check "instances/gone4"`: {ExpectFailure: map[string]string{"instances/gone4: a text": "#1"}},
		`instances/by-id: say why it is ex`:   {ExpectFailure: map[string]string{"instances/by-id: a text": ""}},
		`instances/by-id: say after the co`:   {ExpectFailure: map[string]string{"instances/by-id: ": "#1"}},
		`"instances/by-id: b" has no effect`:  {ExpectFailure: map[string]string{"instances/by-id": "#1", "instances/by-id: b": "#2"}},
		`all checks of the feature Shutdown`:  {Skip: map[string]string{"instances/stopped": "no", "instances/in-between": "no"}},
	} {
		target := flawed("")
		target.Features.Supported = []conformance.Feature{conformance.Shutdown}
		if _, err := conformance.RunSuite(t.Context(), target, options, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got error %v, want %q", options, err, want)
		}
	}
}

// Each row has one cause and the outcome that it leads to. A check can pass only if it
// was run and is not expected to fail.
func TestOutcomes(t *testing.T) {
	const check, faults = "instances/gone-by-id", "instances/fault-is-error"
	type machinesOnly struct{ conformance.Machines }
	type seesNoEvents struct {
		conformance.Machines
		conformance.Viewer
		conformance.Inventory
	}
	type incapable struct {
		conformance.Machines
		conformance.Faulter
	}
	for name, row := range map[string]struct {
		flaw    string
		change  func(*conformance.Target)
		options conformance.Options
		check   string
		want    conformance.Outcome
		why     string
	}{
		"Passed":          {check: check, want: conformance.Passed},
		"Failed":          {check: check, flaw: check, want: conformance.Failed, why: "want false, nil"},
		"Skipped":         {check: check, options: conformance.Options{Skip: map[string]string{check: "no machines"}}, want: conformance.Skipped, why: "no machines"},
		"ExpectedFailure": {check: check, flaw: check, options: conformance.Options{ExpectFailure: map[string]string{check: "#1"}}, want: conformance.ExpectedFailure, why: "want false, nil"},
		"FailureThatPasses": {
			check: check, options: conformance.Options{ExpectFailure: map[string]string{check: "#1"}}, want: conformance.Failed, why: "it passes now",
		},
		"FailureThatIsNamed": {
			check: faults, flaw: faults, options: conformance.Options{ExpectFailure: map[string]string{faults + ": fault forbidden": "#1"}}, want: conformance.ExpectedFailure, why: "fault forbidden: ",
		},
		"FailureThatIsNotNamed": {
			check: faults, flaw: faults, options: conformance.Options{ExpectFailure: map[string]string{faults + ": fault reset": "#1"}}, want: conformance.Failed, why: "fault forbidden: ",
		},
		"NamedFailureThatPasses": {
			check: faults, options: conformance.Options{ExpectFailure: map[string]string{faults + ": fault forbidden": "#1"}}, want: conformance.Failed, why: "it passes now",
		},
		"WorldWithoutIt": {
			check: "instances/renamed", want: conformance.NotRun, why: "needs Renamer",
			change: only(func(c *brokenCloud) any { return machinesOnly{c} }),
		},
		"WorldThatCannot": {
			check: "instances/deadline", want: conformance.NotRun, why: "none of the faults",
			change: only(func(c *brokenCloud) any { return incapable{c, cannot{}} }),
		},
		"WorldWithoutFaults": {
			check: "instances/kinds", want: conformance.NotRun, why: "none of the faults",
			change: only(func(c *brokenCloud) any { return incapable{c, cannot{}} }),
		},
		"CloudThatNeverSaysHowLong": {
			check: "instances/kinds", flaw: "instances/kinds", want: conformance.Failed, why: "fault throttled",
			change: func(t *conformance.Target) {
				cloud := newBroken("instances/kinds")
				t.World = func(context.Context) (any, error) { return neverSaysHowLong{cloud}, nil }
				t.New = func(ctx context.Context, _ any) (cloudprovider.Interface, error) { return cloud.Provider(ctx) }
			},
		},
		"CloudThatNeverAsksToWait": {
			check: "instances/retry-after", want: conformance.NotRun, why: "none of the faults",
			change: only(func(c *brokenCloud) any { return neverSaysHowLong{c} }),
		},
		"WorldThatSeesNoEvents": {
			check: "loadbalancers/dual-stack", want: conformance.NotRun, why: "only be seen with an Announcer",
			change: func(t *conformance.Target) {
				only(func(c *brokenCloud) any { return seesNoEvents{c, c, c} })(t)
				t.EventuallyWithin = time.Millisecond
			},
		},
		"NoBatches":         {check: "fastpaths/batch", want: conformance.Unsupported, why: "InstanceMetadataBatcher", change: plainWithoutMachines},
		"NoBatchesOfBadIDs": {check: "fastpaths/batch-bad-id", want: conformance.Unsupported, why: "InstanceMetadataBatcher", change: plainWithoutMachines},
		"NoBatchesOfFaults": {check: "fastpaths/batch-fault", want: conformance.Unsupported, why: "InstanceMetadataBatcher", change: plainWithoutMachines},
		"FeatureThatIsNotSupported": {
			check: "instances/stopped", want: conformance.Unsupported, why: "Shutdown",
			change: func(t *conformance.Target) { t.Features.Unsupported = []conformance.Feature{conformance.Shutdown} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			target := flawed(row.flaw)
			if row.change != nil {
				row.change(&target)
			}
			row.options.Only = []string{row.check}
			report, err := conformance.RunSuite(t.Context(), target, row.options, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := report.Checks[0]
			if got.Outcome != row.want || !strings.Contains(got.Why, row.why) {
				t.Errorf("got %s: %s; want %s: %s", got.Outcome, got.Why, row.want, row.why)
			}
		})
	}
}

// only returns a function that changes a target. After the change, the target's world
// offers only the part of a cloud that the given function returns.
func only(part func(*brokenCloud) any) func(*conformance.Target) {
	return func(t *conformance.Target) {
		cloud := newBroken("")
		t.World = func(context.Context) (any, error) { return part(cloud), nil }
		t.New = func(ctx context.Context, _ any) (cloudprovider.Interface, error) { return cloud.Provider(ctx) }
	}
}

// plainWithoutMachines changes the target. After the change, the provider has no
// fast paths for instances, and the world creates no machines.
func plainWithoutMachines(t *conformance.Target) {
	cloud := newBroken("")
	t.World = func(context.Context) (any, error) { return full{cloud}, nil }
	t.New = func(ctx context.Context, _ any) (cloudprovider.Interface, error) {
		p, err := cloud.Provider(ctx)
		return plain{p}, err
	}
}

// full is a cloud without room for a machine.
type full struct{ *brokenCloud }

func (full) CreateMachine(context.Context, string) (conformance.Machine, error) {
	return conformance.Machine{}, errors.New("there is no room")
}

// plain is a provider whose InstancesV2 has no optional interfaces.
type plain struct{ cloudprovider.Interface }

func (p plain) InstancesV2() (cloudprovider.InstancesV2, bool) {
	v2, ok := p.Interface.InstancesV2()
	return struct{ cloudprovider.InstancesV2 }{v2}, ok
}

// cannot is a Faulter that cannot set any fault.
type cannot struct{}

func (cannot) SetFault(context.Context, conformance.Fault) (func(), error) {
	return nil, conformance.ErrCannot
}

// neverSaysHowLong is a cloud that does not name a time to wait when it
// throttles. It has no other fault.
type neverSaysHowLong struct{ *brokenCloud }

func (c neverSaysHowLong) SetFault(ctx context.Context, f conformance.Fault) (func(), error) {
	if f.Kind != conformance.FaultThrottled || f.RetryAfter > 0 {
		return nil, conformance.ErrCannot
	}
	return c.brokenCloud.SetFault(ctx, f)
}

// A correct provider passes with the default Timeout, although the cloud takes a third
// of a second for each answer.
func TestSlowCloud(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := flawed("")
		inner := target.New
		target.New = func(ctx context.Context, world any) (cloudprovider.Interface, error) {
			made, err := inner(ctx, world)
			return wrapped{made, func(ctx context.Context, call func(context.Context)) {
				time.Sleep(time.Second / 3)
				call(ctx)
			}}, err
		}
		target.PageSize = 0
		report, err := conformance.RunSuite(t.Context(), target, conformance.Options{Only: checksOf("instances/")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, check := range report.Checks {
			if check.Outcome == conformance.Failed {
				t.Errorf("%s: %s", check.ID, check.Why)
			}
		}
	})
}

// A provider that makes only one call to the cloud at a time fails the check, although
// all callers get their answers in the end.
func TestOneCallerAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := flawed("")
		inner := target.New
		target.New = func(ctx context.Context, world any) (cloudprovider.Interface, error) {
			made, err := inner(ctx, world)
			lock := make(chan struct{}, 1)
			// Each call waits for the cloud for at most 15 seconds, and ignores the caller's context.
			return wrapped{made, func(_ context.Context, call func(context.Context)) {
				lock <- struct{}{}
				defer func() { <-lock }()
				ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
				defer cancel()
				call(ctx) //nolint:contextcheck // the provider's habit
			}}, err
		}
		report, err := conformance.RunSuite(t.Context(), target, conformance.Options{Only: []string{"instances/others-hang"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Checks[0]; got.Outcome != conformance.Failed || !strings.Contains(got.Why, "has taken 1") {
			t.Errorf("got %s: %s; want failed, because of the time", got.Outcome, got.Why)
		}
	})
}
