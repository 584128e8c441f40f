package conformance_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// wrapped is a provider that makes each call of its InstancesV2 through a function. If the
// function does not make the call, the answer is empty.
type wrapped struct {
	cloudprovider.Interface

	through func(ctx context.Context, call func(context.Context))
}

func (w wrapped) InstancesV2() (cloudprovider.InstancesV2, bool) { return w, true }

func (w wrapped) inner() cloudprovider.InstancesV2 {
	v2, _ := w.Interface.InstancesV2()
	return v2
}

func (w wrapped) InstanceExists(ctx context.Context, n *corev1.Node) (exists bool, err error) {
	w.through(ctx, func(ctx context.Context) { exists, err = w.inner().InstanceExists(ctx, n) })
	return exists, err
}

func (w wrapped) InstanceShutdown(ctx context.Context, n *corev1.Node) (down bool, err error) {
	w.through(ctx, func(ctx context.Context) { down, err = w.inner().InstanceShutdown(ctx, n) })
	return down, err
}

func (w wrapped) InstanceMetadata(ctx context.Context, n *corev1.Node) (m *cloudprovider.InstanceMetadata, err error) {
	w.through(ctx, func(ctx context.Context) { m, err = w.inner().InstanceMetadata(ctx, n) })
	return m, err
}

// hostiles returns functions that panic, hang, do nothing, or end the goroutine. The hanging function returns when the channel is closed.
func hostiles(release <-chan struct{}) map[string]func() {
	return map[string]func(){
		"Panics":      func() { panic("out of order") },
		"Hangs":       func() { <-release },
		"AnswersNil":  func() {},
		"EndsRoutine": runtime.Goexit,
	}
}

// runHostile runs the suite on a hostile provider.
func runHostile(t *testing.T, name string, release <-chan struct{}, options conformance.Options) *conformance.Report {
	t.Helper()
	options.Only = append(checksOf("instances/"), checksOf("cost/")...)
	report, err := conformance.RunSuite(t.Context(), conformance.Target{
		Name:  "hostile",
		World: func(context.Context) (any, error) { return newBroken(""), nil },
		New: func(context.Context, any) (cloudprovider.Interface, error) {
			return wrapped{&brokenProvider{}, func(context.Context, func(context.Context)) { hostiles(release)[name]() }}, nil
		},
		EventuallyWithin: 20 * time.Millisecond,
	}, options, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Whatever the provider does, the report has all checks and the result Failure, and
// no goroutine of the suite is left.
func TestHostileProviders(t *testing.T) {
	for name := range hostiles(nil) {
		t.Run(name, func(t *testing.T) {
			before := goroutinesOfSuite()
			release := make(chan struct{})
			report := runHostile(t, name, release, conformance.Options{Timeout: time.Second})
			close(release)
			want := len(checksOf("instances/")) + len(checksOf("cost/"))
			if got := len(report.Checks); got != want || report.Result != conformance.Failure {
				t.Errorf("the report has %d of %d checks, and its result is %s; want all, and %s", got, want, report.Result, conformance.Failure)
			}
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
