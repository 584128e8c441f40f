package conformance_test

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
	"github.com/fairlead-k8s/fairlead/provider/conformance/internal/broken"
)

// hostile is a provider. Each method of its InstancesV2 runs the same given function.
type hostile struct {
	cloudprovider.Interface

	do func()
}

func (h hostile) InstancesV2() (cloudprovider.InstancesV2, bool) { return h, true }

func (h hostile) InstanceExists(context.Context, *corev1.Node) (bool, error) {
	h.do()
	return false, nil
}

func (h hostile) InstanceShutdown(context.Context, *corev1.Node) (bool, error) {
	h.do()
	return false, nil
}

func (h hostile) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	h.do()
	return nil, nil
}

// habit is the environment variable that tells child processes the name of the
// hostile provider.
const habit = "CONFORMANCE_HABIT"

// hostiles returns functions that panic, hang, do nothing, or end the process or the
// goroutine. The hanging function returns when the channel is closed.
func hostiles(release <-chan struct{}) map[string]func() {
	return map[string]func(){
		"Panics":      func() { panic("out of order") },
		"Hangs":       func() { <-release },
		"Exits":       func() { os.Exit(3) },
		"AnswersNil":  func() {},
		"EndsRoutine": runtime.Goexit,
	}
}

// meets reports whether the check is run on the hostile provider with this name. If
// the provider exits, each check needs its own process, so only a few checks are run.
func meets(name string, c conformance.Check) bool {
	switch c.Profile() {
	case conformance.Instances:
		return name != "Exits" || strings.HasPrefix(c.ID, "instances/gone-")
	case conformance.Cost:
		return name != "Exits"
	case conformance.LoadBalancers, conformance.Routes, conformance.FastPaths, conformance.Process:
	}
	return false
}

// runHostile runs the suite on a hostile provider.
func runHostile(t *testing.T, name string, release <-chan struct{}, options conformance.Options) *conformance.Report {
	t.Helper()
	for _, check := range conformance.Checks() {
		if meets(name, check) {
			options.Only = append(options.Only, check.ID)
		}
	}
	report, err := conformance.Run(t.Context(), conformance.Target{
		Name:  "hostile",
		World: func(context.Context) (any, error) { return broken.New(""), nil },
		New: func(context.Context, any) (cloudprovider.Interface, error) {
			return hostile{Interface: &broken.Provider{}, do: hostiles(release)[name]}, nil
		},
		EventuallyWithin: 20 * time.Millisecond,
	}, options)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Whatever the provider does, the report has all checks and the result Failure, and
// no goroutine of the suite is left.
func TestHostileProviders(t *testing.T) {
	if name := os.Getenv(habit); name != "" { // this is a child process
		runHostile(t, name, nil, conformance.Options{Timeout: time.Second})
		return
	}
	for name := range hostiles(nil) {
		t.Run(name, func(t *testing.T) {
			before := goroutinesOfSuite()
			release := make(chan struct{})
			report := runHostile(t, name, release, conformance.Options{
				Timeout: time.Second,
				Isolate: name == "Exits",
				Child: func(ctx context.Context) *exec.Cmd {
					command := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestHostileProviders$", "-test.count=1")
					command.Env = append(os.Environ(), habit+"="+name)
					return command
				},
			})
			close(release)
			want := len(slices.DeleteFunc(conformance.Checks(), func(c conformance.Check) bool { return !meets(name, c) }))
			if got := len(report.Checks); got != want || report.Result != conformance.Failure {
				t.Errorf("the report has %d of %d checks, and its result is %s; want all, and %s", got, want, report.Result, conformance.Failure)
			}
			isValid(t, report)
			for _, check := range report.Checks {
				if check.Outcome == conformance.Passed && name != "AnswersNil" && !strings.HasPrefix(check.ID, "cost/") {
					t.Errorf("%s has passed", check.ID)
				}
			}
			awaitGone(t, before)
		})
	}
}

// goroutinesOfSuite returns the number of goroutines of the suite.
func goroutinesOfSuite() int {
	text := make([]byte, 1<<20)
	return strings.Count(string(text[:runtime.Stack(text, true)]), "conformance.(*trial)")
}

// awaitGone waits until the suite has no more goroutines than before.
func awaitGone(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); goroutinesOfSuite() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines of the suite are left", goroutinesOfSuite()-before)
		}
	}
}
