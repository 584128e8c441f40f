package conformance

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// holding is both a provider of load balancers and a world. The world's holds stay after
// the end of the process that has begun them.
type holding struct {
	account

	refused error // error of HoldLoadBalancers
	stuck   error // error of ReleaseLoadBalancers

	mu     sync.Mutex
	held   bool     // guarded by mu
	events []string // guarded by mu
}

func (h *holding) note(event string, held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events, h.held = append(h.events, event), held
}

func (h *holding) happened() (events []string, held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events), h.held
}

func (h *holding) HoldLoadBalancers(ctx context.Context) (func(), error) {
	if errors.Is(h.refused, ErrCannot) {
		return nil, h.refused
	}
	h.note("hold", true)
	if h.refused != nil {
		return nil, h.refused
	}
	return func() { _ = h.ReleaseLoadBalancers(ctx) }, nil
}

func (h *holding) ReleaseLoadBalancers(context.Context) error {
	if h.stuck == nil {
		h.note("release", false)
	}
	return h.stuck
}

func (h *holding) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return noted{balancersOf{a: &h.account}, h}, true
}

// noted is a LoadBalancer that records each deletion.
type noted struct {
	cloudprovider.LoadBalancer

	h *holding
}

func (n noted) EnsureLoadBalancerDeleted(context.Context, string, *corev1.Service) error {
	_, held := n.h.happened()
	n.h.note("delete", held)
	return nil
}

func (h *holding) target() Target {
	return Target{
		Name: "acme", Shared: true, ClusterName: "c",
		World: func(context.Context) (any, error) { return h, nil },
		New:   func(context.Context, any) (cloudprovider.Interface, error) { return h, nil },
	}
}

// A hold stays in the ledger as long as it may still be on.
func TestHoldsAreListed(t *testing.T) {
	listed := []Entry{{Check: "loadbalancers/x", Cluster: "c", Kind: KindHold, Name: "loadBalancers"}}
	for name, row := range map[string]struct {
		refused error
		during  []Entry
		events  []string
	}{
		"Held":     {nil, listed, []string{"hold", "release"}},
		"Cannot":   {ErrCannot, []Entry{}, nil},
		"NoAnswer": {errors.New("no answer"), listed, []string{"hold", "release"}},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := &holding{refused: row.refused}
			write(t, filepath.Join(t.TempDir(), "made.jsonl"), func(l *FileLedger) error {
				s, err := newSuite(cloud.target(), Options{Ledger: l})
				if err != nil {
					return err
				}
				trial := newTrial(t.Context(), s, Check{ID: "loadbalancers/x"}, cloud)
				release, err := trial.setHold()
				if (err != nil) != (release == nil) {
					t.Errorf("got error %v and a function: %v", err, release != nil)
				}
				left, err := l.Left()
				if d := cmp.Diff(row.during, left); d != "" || err != nil {
					t.Errorf("while it is on: error %v (-want +got):\n%s", err, d)
				}
				if release != nil {
					release()
				}
				trial.finish(t.Context())
				left, err = l.Left()
				if len(left) > 0 || err != nil {
					t.Errorf("after the check: listed %v, error %v", left, err)
				}
				if events, _ := cloud.happened(); !slices.Equal(events, row.events) {
					t.Errorf("got %q, want %q", events, row.events)
				}
				return nil
			})
		})
	}
}

// A check hangs while load balancers are held. The hold ends before the load balancer of
// the check is deleted, because some clouds do not delete a load balancer that is not
// ready.
func TestHoldOfACheckThatHangs(t *testing.T) {
	hangs(t, func(t *testing.T, over <-chan struct{}) {
		cloud := &holding{}
		s, err := newSuite(cloud.target(), Options{Timeout: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		result, err := s.try(t.Context(), Check{ID: "loadbalancers/x", Writes: true, run: balanced(func(b *balancing) {
			defer b.hold(b.newService("a"))()
			<-over
		})})
		if err != nil || result.Outcome != Failed {
			t.Errorf("got %s: %s, error %v", result.Outcome, result.Why, err)
		}
		if events, _ := cloud.happened(); !slices.Equal(events, []string{"hold", "release", "delete"}) {
			t.Errorf("got %q", events)
		}
	})
}

// late is a world that begins a hold only after the suite has given up the check.
type late struct {
	*holding

	over chan struct{}
}

func (l late) HoldLoadBalancers(ctx context.Context) (func(), error) {
	<-l.over
	return l.holding.HoldLoadBalancers(ctx)
}

func TestHoldThatBeginsAfterItsCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := late{&holding{}, make(chan struct{})}
		target := cloud.target()
		target.World = func(context.Context) (any, error) { return cloud, nil }
		s, err := newSuite(target, Options{Timeout: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		if _, err := s.try(t.Context(), Check{ID: "loadbalancers/x", Writes: true, run: balanced(func(b *balancing) {
			defer close(ended)
			b.hold(b.newService("a"))
		})}); err != nil {
			t.Fatal(err)
		}
		close(cloud.over)
		<-ended
		if events, held := cloud.happened(); held || !slices.Equal(events, []string{"hold", "release"}) {
			t.Errorf("got %q, held %v", events, held)
		}
		time.Sleep(time.Hour) // synctest requires that the check has returned.
	})
}

// The process of a check ends and leaves load balancers held, because it was killed or its
// world has failed. The hold does not affect the next check. If the hold cannot be ended,
// no other check is tried.
func TestHoldsThatTheirCheckHasNotEnded(t *testing.T) {
	answer := []string{"sh", "-c", `echo '{"result": {"result": "passed"}}' >"$` + childResult + `"`}
	for name, row := range map[string]struct {
		child []string
		stuck error
	}{
		"Killed":       {[]string{"false"}, nil},
		"KilledStuck":  {[]string{"false"}, errors.New("no answer")},
		"Answers":      {answer, nil},
		"AnswersStuck": {answer, errors.New("no answer")},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := &holding{stuck: row.stuck}
			write(t, filepath.Join(t.TempDir(), "made.jsonl"), func(l *FileLedger) error {
				report, err := Run(t.Context(), cloud.target(), Options{
					Only: []string{"instances/by-name", "instances/by-id"}, Isolate: true, Ledger: l,
					Child: func(ctx context.Context) *exec.Cmd {
						cloud.note("hold", true)
						if err := l.Begin(Entry{Kind: KindHold, Name: "loadBalancers"}); err != nil {
							t.Error(err)
						}
						return exec.CommandContext(ctx, row.child[0], row.child[1:]...)
					},
				})
				if err != nil {
					return err
				}
				left, err := l.Left()
				if _, held := cloud.happened(); held != (row.stuck != nil) || held != (len(left) > 0) {
					t.Errorf("listed %v, held %v", left, held)
				}
				second := report.Checks[1]
				if want := "could not be released: no answer"; (second.Outcome == NotRun) != (row.stuck != nil) || row.stuck != nil && !strings.Contains(second.Why, want) {
					t.Errorf("the second check: %s: %s", second.Outcome, second.Why)
				}
				return err
			})
		})
	}
}

// Cleanup ends holds before it deletes load balancers, because some clouds do not delete a
// load balancer that is not ready. Cleanup tries the deletion even if a hold cannot be
// ended.
func TestCleanupReleasesLoadBalancersFirst(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "u-1"}}
	balancer := Entry{Kind: KindLoadBalancer, Name: "u-1", Service: service}
	hold := Entry{Kind: KindHold, Name: "loadBalancers"}
	for name, row := range map[string]struct {
		stuck error
		want  []string
	}{
		"Released": {nil, []string{"release", "delete"}},
		"Stuck":    {errors.New("no answer"), []string{"delete"}},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := &holding{held: true, stuck: row.stuck}
			write(t, filepath.Join(t.TempDir(), "made.jsonl"), func(l *FileLedger) error {
				if err := errors.Join(l.Begin(hold), l.Begin(balancer)); err != nil {
					return err
				}
				if err := Cleanup(t.Context(), cloud.target(), l, func(string) {}); !errors.Is(err, row.stuck) {
					t.Errorf("got error %v, want %v", err, row.stuck)
				}
				if events, _ := cloud.happened(); !slices.Equal(events, row.want) {
					t.Errorf("got %q, want %q", events, row.want)
				}
				left, err := l.Left()
				if (len(left) > 0) != (row.stuck != nil) {
					t.Errorf("listed: %v", left)
				}
				return err
			})
		})
	}
}

// Cleanup cannot end a hold if the world has no method for that.
func TestCleanupNeedsAWorldThatReleases(t *testing.T) {
	write(t, filepath.Join(t.TempDir(), "made.jsonl"), func(l *FileLedger) error {
		if err := l.Begin(Entry{Kind: KindHold, Name: "loadBalancers"}); err != nil {
			return err
		}
		err := Cleanup(t.Context(), (&faulty{}).target(), l, func(string) {})
		if err == nil || !strings.Contains(err.Error(), "until then new ones stay pending") {
			t.Errorf("got error %v", err)
		}
		return nil
	})
}

// The type program implements Inventory even if its executable does not know the verb
// list-leftovers. A check that needs no Inventory still runs.
func TestLoadBalancersNeedNoInventory(t *testing.T) {
	target := (&holding{}).target()
	target.World = script(t, `echo '{"verbs": ["hold-load-balancers", "release-load-balancers"]}'`).World
	s, err := newSuite(target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.try(t.Context(), Check{ID: "loadbalancers/x", Writes: true, run: balanced(func(*balancing) {})})
	if err != nil || result.Outcome != Passed {
		t.Errorf("got %s: %s, error %v", result.Outcome, result.Why, err)
	}
}

// If an executable fails to end a hold or a fault, its world creates no more machines.
func TestExecutableThatDoesNotRelease(t *testing.T) {
	world, err := script(t, `case "$1" in
verbs) echo '{"verbs": ["create-machine", "terminate", "hold-load-balancers", "release-load-balancers"]}' ;;
release-load-balancers) echo no answer >&2; exit 1 ;;
*) echo '{"id": "i-1"}' ;;
esac`).World(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release, err := world.(Holder).HoldLoadBalancers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release()
	if _, err := world.(Machines).CreateMachine(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "release-load-balancers: exit status 1; its standard error: no answer") {
		t.Errorf("got error %v", err)
	}
}

// If the world does not end a hold, the report says so before it blames the provider.
func TestHoldThatItsCheckCannotEnd(t *testing.T) {
	executable := script(t, `case "$1" in
verbs) echo '{"verbs": ["hold-load-balancers", "release-load-balancers"]}' ;;
release-load-balancers) echo no answer >&2; exit 1 ;;
*) echo '{}' ;;
esac`)
	target := (&holding{}).target()
	target.World = executable.World
	s, err := newSuite(target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.try(t.Context(), Check{ID: "loadbalancers/x", Writes: true, run: balanced(func(b *balancing) {
		b.hold(b.newService("a"))()
		b.errorf("EnsureLoadBalancerDeleted = pending; want nil")
	})})
	if want := "world: the hold loadBalancers could not be ended: "; err != nil || result.Outcome != Failed || !strings.HasPrefix(result.Why, want) || !strings.Contains(result.Why, "no answer") {
		t.Errorf("got %s: %s, error %v; want first %q", result.Outcome, result.Why, err, want)
	}
}

// An earlier run was killed while load balancers were held. The hold does not affect the
// first check. If the world cannot end the hold, no check is run.
func TestHoldsOfAnEarlierRun(t *testing.T) {
	for name, row := range map[string]struct {
		stuck  error
		unable bool
		want   string
	}{
		"Released": {},
		"Stuck":    {stuck: errors.New("no answer"), want: "could not be released: no answer"},
		"Unable":   {unable: true, want: "could not be released: only the world of the run that began it can end it"},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := &holding{held: true, stuck: row.stuck}
			target := cloud.target()
			if row.unable {
				target.World = func(context.Context) (any, error) { return &account{}, nil }
			}
			write(t, filepath.Join(t.TempDir(), "made.jsonl"), func(l *FileLedger) error {
				if err := l.Begin(Entry{Kind: KindHold, Name: "loadBalancers"}); err != nil {
					return err
				}
				report, err := Run(t.Context(), target, Options{
					Only: []string{"instances/by-name"}, Isolate: true, Ledger: l,
					Child: func(ctx context.Context) *exec.Cmd {
						if _, held := cloud.happened(); held {
							t.Error("a check is tried while load balancers are held")
						}
						return exec.CommandContext(ctx, "false")
					},
				})
				if err != nil {
					return err
				}
				left, err := l.Left()
				if got := report.Checks[0]; (got.Outcome == NotRun) != (row.want != "") || !strings.Contains(got.Why, row.want) || (len(left) > 0) != (row.want != "") {
					t.Errorf("%s: %s; listed %v", got.Outcome, got.Why, left)
				}
				return err
			})
		})
	}
}
