package conformance

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// faulty is a world whose faults stay after the end of the process that has set them.
type faulty struct {
	account

	set   []FaultKind
	stuck error // what ClearFaults returns
}

func (f *faulty) SetFault(_ context.Context, fault Fault) (func(), error) {
	if fault.Kind == FaultGarbage {
		return nil, ErrCannot
	}
	f.set = append(f.set, fault.Kind)
	if fault.Kind == FaultReset {
		return nil, errors.New("no answer")
	}
	return func() { f.set = nil }, nil
}

func (f *faulty) ClearFaults(context.Context) error {
	if f.stuck == nil {
		f.set, f.err = nil, nil
	}
	return f.stuck
}

func (f *faulty) target() Target {
	return Target{
		Name: "acme", Shared: true,
		World: func(context.Context) (any, error) { return f, nil },
		New:   func(context.Context, any) (cloudprovider.Interface, error) { return &f.account, nil },
	}
}

// A fault stays in the ledger as long as it may still be set.
func TestFaultsAreListed(t *testing.T) {
	for kind, during := range map[FaultKind][]Entry{
		FaultHang:    {{Check: "instances/x", Cluster: "c", Kind: KindFault, Name: "hang"}},
		FaultGarbage: {},
		FaultReset:   {{Check: "instances/x", Cluster: "c", Kind: KindFault, Name: "reset"}},
	} {
		t.Run(string(kind), func(t *testing.T) {
			cloud := &faulty{}
			write(t, filepath.Join(t.TempDir(), "made.jsonl"), func(l *FileLedger) error {
				s, err := newSuite(cloud.target(), Options{Ledger: l})
				if err != nil {
					return err
				}
				s.target.ClusterName = "c"
				trial := newTrial(t.Context(), s, Check{ID: "instances/x"}, cloud)
				restore, err := trial.setFault(Fault{Kind: kind})
				if (err != nil) != (restore == nil) {
					t.Errorf("got error %v and a function: %v", err, restore != nil)
				}
				left, err := l.Left()
				if d := cmp.Diff(during, left); d != "" || err != nil {
					t.Errorf("while it is set: error %v (-want +got):\n%s", err, d)
				}
				if restore != nil {
					restore()
				}
				trial.finish(t.Context())
				left, err = l.Left()
				if len(left)+len(cloud.set) > 0 || err != nil {
					t.Errorf("after the check: listed %v, set %v, error %v", left, cloud.set, err)
				}
				return nil
			})
		})
	}
}

// The process of a check ends while the fault of the check is set. The fault does not
// hit the next check. If the fault cannot be taken away, no other check is tried.
func TestFaultsOfACheckThatWasKilled(t *testing.T) {
	for name, stuck := range map[string]error{"TakenAway": nil, "Stuck": errors.New("no answer")} {
		t.Run(name, func(t *testing.T) {
			cloud := &faulty{stuck: stuck}
			write(t, filepath.Join(t.TempDir(), "made.jsonl"), func(l *FileLedger) error {
				report, err := Run(t.Context(), cloud.target(), Options{
					Only: []string{"instances/by-name", "instances/by-id"}, Isolate: true, Ledger: l,
					Child: func(ctx context.Context) *exec.Cmd {
						cloud.set = []FaultKind{FaultHang}
						if err := l.Begin(Entry{Kind: KindFault, Name: string(FaultHang)}); err != nil {
							t.Error(err)
						}
						return exec.CommandContext(ctx, "false")
					},
				})
				if err != nil {
					return err
				}
				left, err := l.Left()
				if listed := len(left) + len(cloud.set); (listed > 0) != (stuck != nil) {
					t.Errorf("listed %v, set %v", left, cloud.set)
				}
				second := report.Checks[1]
				if want := "could not be taken away: no answer"; (second.Outcome == NotRun) != (stuck != nil) || stuck != nil && !strings.Contains(second.Why, want) {
					t.Errorf("the second check: %s: %s", second.Outcome, second.Why)
				}
				return err
			})
		})
	}
}

// Cleanup takes faults away before anything else, because a fault makes the cloud's answers
// about the other entries wrong.
func TestCleanupTakesFaultsAwayFirst(t *testing.T) {
	cloud := &faulty{set: []FaultKind{FaultUnavailable}}
	cloud.err, cloud.addresses = errors.New("503"), []Address{{ID: "fl-1-ip/1"}}
	write(t, filepath.Join(t.TempDir(), "made.jsonl"), func(l *FileLedger) error {
		err := errors.Join(l.Begin(Entry{Kind: KindFault, Name: string(FaultUnavailable)}), l.Begin(Entry{Kind: KindAddress, Name: "fl-1-ip"}))
		if err != nil {
			return err
		}
		return Cleanup(t.Context(), cloud.target(), l, func(string) {})
	})
	if len(cloud.set)+len(cloud.addresses) > 0 {
		t.Errorf("left: faults %v, addresses %v", cloud.set, cloud.addresses)
	}
}

// Cleanup takes faults away before it makes the provider. Some providers call the cloud
// when they are made, and a fault would make that call fail.
func TestCleanupTakesFaultsAwayBeforeItMakesTheProvider(t *testing.T) {
	cloud := &faulty{set: []FaultKind{FaultUnauthenticated}}
	cloud.addresses = []Address{{ID: "fl-1-ip/1"}}
	target := cloud.target()
	target.New = func(context.Context, any) (cloudprovider.Interface, error) {
		if len(cloud.set) > 0 {
			return nil, errors.New("401")
		}
		return &cloud.account, nil
	}
	write(t, filepath.Join(t.TempDir(), "made.jsonl"), func(l *FileLedger) error {
		err := errors.Join(l.Begin(Entry{Kind: KindFault, Name: string(FaultUnauthenticated)}), l.Begin(Entry{Kind: KindAddress, Name: "fl-1-ip"}))
		if err != nil {
			return err
		}
		return Cleanup(t.Context(), target, l, func(string) {})
	})
	if len(cloud.set)+len(cloud.addresses) > 0 {
		t.Errorf("left: faults %v, addresses %v", cloud.set, cloud.addresses)
	}
}

// A fault that stays set makes the cloud answer that nothing exists. Cleanup then leaves
// all entries in the ledger.
func TestCleanupForgetsNothingUnderAFault(t *testing.T) {
	cloud := &faulty{set: []FaultKind{FaultNotFound}, stuck: errors.New("no answer")}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "u-1"}}
	write(t, filepath.Join(t.TempDir(), "made.jsonl"), func(l *FileLedger) error {
		err := errors.Join(l.Begin(Entry{Kind: KindLoadBalancer, Name: "u-1", Service: service}), l.Begin(Entry{Kind: KindFault, Name: string(FaultNotFound)}))
		if err != nil {
			return err
		}
		if err := Cleanup(t.Context(), cloud.target(), l, func(string) {}); !errors.Is(err, cloud.stuck) || !strings.Contains(err.Error(), "nothing else was touched") {
			t.Errorf("got error %v", err)
		}
		left, err := l.Left()
		if len(left) != 2 {
			t.Errorf("listed: %v", left)
		}
		return err
	})
}

// hangs runs the test in simulated time. A check of the test can hang until over is closed,
// which happens when the test has ended. synctest requires that the check then returns.
func hangs(t *testing.T, test func(t *testing.T, over <-chan struct{})) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		defer time.Sleep(time.Hour)
		defer close(over)
		test(t, over)
	})
}

// If a check hangs while a fault is set, the fault does not hit the next check.
func TestFaultOfACheckThatHangs(t *testing.T) {
	hangs(t, func(t *testing.T, over <-chan struct{}) {
		cloud := &faulty{}
		s, err := newSuite(cloud.target(), Options{Timeout: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		result, err := s.try(t.Context(), Check{ID: "instances/x", run: func(t *trial) {
			t.under(Fault{Kind: FaultHang}, func() { <-over })
		}})
		if err != nil || result.Outcome != Failed || len(cloud.set) > 0 {
			t.Errorf("got %s: %s, error %v, faults %v", result.Outcome, result.Why, err, cloud.set)
		}
	})
}
