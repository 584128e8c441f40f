package conformance_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// flawed returns a target whose provider has the flaw. If the argument is empty,
// the provider has no flaw.
func flawed(flaw string) conformance.Target {
	id, habits, _ := strings.Cut(flaw, "+")
	within := 300 * time.Millisecond // A check that finds its flaw may wait for all of it.
	// A check that has to pass needs this much time only on a busy machine.
	if check := os.Getenv("FAIRLEAD_CONFORMANCE_CHECK"); id == "" && !newBroken(flaw).caches() || check != "" && check != id {
		within = 10 * time.Second
	}
	target := conformance.Target{
		Name:  "broken",
		World: func(context.Context) (any, error) { return newBroken(flaw), nil },
		New: func(ctx context.Context, world any) (cloudprovider.Interface, error) {
			return world.(*brokenCloud).Configured(ctx, "token: "+brokenToken+"\nregion: here")
		},
		Configs: []conformance.Config{
			{Flaw: conformance.BadCredentials, New: configured("token: wrong"), Mentions: []string{"token"}},
			{Flaw: conformance.UnknownKey, New: configured("regoin: here"), Mentions: []string{"regoin"}},
			{Flaw: conformance.TwoMistakes, New: configured("region: nowhere\nzone: a"), Mentions: []string{"region", "zone"}},
		},
		Secrets:           []string{brokenToken},
		LegacyProviderIDs: func(m conformance.Machine) []string { return []string{brokenLegacyProviderID(m.ID)} },
		EventuallyWithin:  within,
		PageSize:          brokenPageSize,
		MaxTargets:        brokenMaxBackends,
		MaxRoutes:         brokenMaxRoutes,
		Features: conformance.Features{Supported: []conformance.Feature{
			conformance.UDP, conformance.MixedProtocol, conformance.SCTP, conformance.SourceRanges, conformance.SessionAffinity, conformance.ETPLocal, conformance.StaticIP,
		}},
		Services: []conformance.Shape{
			{Name: "drain", Change: annotated("30"), Want: conformance.NotIgnored},
			{Name: "bad drain", Change: annotated("soon"), Want: conformance.Refused, Mentions: []string{brokenDrain}},
		},
	}
	if id != "" && habit(habits) == warns {
		target.Features = conformance.Features{} // so that a warning could be a refusal
	}
	return target
}

// annotated returns a change that gives a Service the annotation brokenDrain.
func annotated(drain string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations = map[string]string{brokenDrain: drain} }
}

// configured returns a function that makes a provider with this configuration.
func configured(text string) func(context.Context, any) (cloudprovider.Interface, error) {
	return func(ctx context.Context, world any) (cloudprovider.Interface, error) {
		return world.(*brokenCloud).Configured(ctx, text)
	}
}

// flawVariable is the environment variable that tells the child processes of this
// test the name of the flaw.
const flawVariable = "CONFORMANCE_FLAW"

// implied maps the flaw of a check to the other checks that may also find it. Each
// comment gives the reason.
func implied() map[string][]string {
	return map[string][]string{
		// These checks also ask by name and compare the provider ID.
		"instances/by-name": {"instances/id-round-trip", "instances/pages", "instances/parallel", "instances/two-nodes"},
		// These checks also ask about a machine that runs.
		"fastpaths/termination-alive": {"fastpaths/termination-name", "fastpaths/termination-fault"},
		// This check also expects an error.
		"instances/gone-metadata": {"instances/gone-metadata-kind"},
		// This check also uses bad credentials.
		"process/bad-credentials": {"process/no-secrets"},
		// This check counts calls, and the flawed provider makes more calls.
		"instances/by-id": {"instances/retry-after"},
		// This check asks about a Node that has the ID of one machine and the name of
		// another.
		"instances/renamed": {"instances/by-id"},
		// This check restarts the provider, and compares the provider ID.
		"instances/id-round-trip": {"instances/retagged"},
		// The callers of this check also ask about different machines.
		"instances/two-nodes": {"instances/parallel"},
		// These checks also look for the address in the status.
		"loadbalancers/create": {"loadbalancers/get-after", "loadbalancers/static-ip-reserved"},
		// These checks also delete a load balancer that does not exist.
		"loadbalancers/delete-none": {"loadbalancers/cancel", "loadbalancers/delete-none-writes", "loadbalancers/update-none"},
		// This check repeats deletions, and restarts the provider.
		"loadbalancers/delete-twice": {"loadbalancers/crash"},
		"loadbalancers/restart":      {"loadbalancers/crash"},
		// This check also creates a load balancer that does not become ready.
		"loadbalancers/not-blocking": {"loadbalancers/delete-pending"},
		// This check sets the same field.
		"loadbalancers/source-ranges": {"loadbalancers/source-ranges-change"},
		// This check also compares the nodes of routes.
		"routes/round-trip": {"routes/two-hundred-at-once"},
		// This check tries all fields that the target does not declare.
		"loadbalancers/ipv6":       {"loadbalancers/not-ignored"},
		"loadbalancers/dual-stack": {"loadbalancers/not-ignored"},
	}
}

// A provider without a flaw passes all checks.
func TestCorrectProvider(t *testing.T) {
	report := conformance.Test(t, flawed(os.Getenv(flawVariable)), conformance.Options{Timeout: 5 * time.Minute}) // longer than a busy machine takes
	if len(report.Checks) != len(conformance.Checks()) {
		t.Errorf("the report has %d of %d checks", len(report.Checks), len(conformance.Checks()))
	}
	for _, check := range report.Checks {
		if check.Outcome != conformance.Passed {
			t.Errorf("%s: %s: %s", check.ID, check.Outcome, check.Why)
		}
	}
}

// run runs checks on a provider with a flaw.
func run(t *testing.T, flaw string, options conformance.Options) *conformance.Report {
	t.Helper()
	options.Timeout = time.Minute // longer than a busy machine takes
	var child func(context.Context) *exec.Cmd
	if slices.ContainsFunc(options.Only, func(id string) bool { return strings.HasPrefix(id, "process/") }) {
		child = func(ctx context.Context) *exec.Cmd {
			command := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestCorrectProvider$", "-test.count=1")
			command.Env = append(os.Environ(), flawVariable+"="+flaw)
			return command
		}
	}
	report, err := conformance.RunSuite(t.Context(), flawed(flaw), options, child)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// checksOf returns the IDs of the checks whose IDs begin as the given one.
func checksOf(id string) []string {
	prefix, _, _ := strings.Cut(id, "/")
	var all []string
	for _, c := range conformance.Checks() {
		if strings.HasPrefix(c.ID, prefix+"/") {
			all = append(all, c.ID)
		}
	}
	return all
}

// Each check finds the flaw that has its ID. The other checks of the group must
// pass, unless implied lists them for this flaw.
func TestEachCheckFindsItsFlaw(t *testing.T) {
	for _, check := range conformance.Checks() {
		t.Run(check.ID, func(t *testing.T) {
			t.Parallel()
			if check.Level == conformance.Measured {
				testMeasurement(t, check)
				return
			}
			report := run(t, check.ID, conformance.Options{Only: checksOf(check.ID)})
			for _, result := range report.Checks {
				switch found := result.Outcome == conformance.Failed; {
				case result.ID == check.ID && !found:
					t.Errorf("%s: it does not find its flaw", result.Outcome)
				case result.ID != check.ID && result.Outcome != conformance.Passed && !slices.Contains(implied()[check.ID], result.ID):
					t.Errorf("%s finds the flaw, too: %s: %s", result.ID, result.Outcome, result.Why)
				}
			}
		})
	}
}

// testMeasurement checks that a flaw changes the measurements.
func testMeasurement(t *testing.T, check conformance.Check) {
	t.Helper()
	only := conformance.Options{Only: []string{check.ID}}
	without, with := run(t, "", only).Checks[0].Measurements, run(t, check.ID, only).Checks[0].Measurements
	if len(without) == 0 || maps.Equal(without, with) {
		t.Errorf("measured without the flaw %v and with it %v; want something else", without, with)
	}
}

func TestAnswersThatNameNothing(t *testing.T) {
	for id, right := range map[string]bool{
		"p://1": true, "p:///zone/1": true,
		"": false, "1": false, "://1": false, "p://": false, "p:///": false, "p:// ": false, "p:///zone/": false, "p://<nil>": false, "p://%!s(<nil>)": false,
	} {
		if got := conformance.NamesInstance(id); got != right {
			t.Errorf("provider ID %q: %v", id, got)
		}
	}
	for _, a := range []struct {
		kind    corev1.NodeAddressType
		address string
		right   bool
	}{
		{corev1.NodeInternalIP, "10.0.0.1", true},
		{corev1.NodeExternalIP, "fd00::1", true},
		{corev1.NodeHostName, "n1", true},
		{corev1.NodeInternalIP, "", false},
		{corev1.NodeInternalIP, "<nil>", false},
		{corev1.NodeExternalIP, "2001:db8::/64", false},
		{corev1.NodeInternalIP, "0.0.0.0", false},
		{corev1.NodeHostName, "<nil>", false},
		{corev1.NodeExternalDNS, " ", false},
	} {
		if why := conformance.WrongAddress(corev1.NodeAddress{Type: a.kind, Address: a.address}); (why == "") != a.right {
			t.Errorf("%s %q: %q", a.kind, a.address, why)
		}
	}
}
