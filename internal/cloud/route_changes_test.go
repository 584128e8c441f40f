package cloud

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// tableWithFaults is a provider with a route table. It makes all changes, except those
// of the destinations in the map refuses. If fault is not nil, it can replace the
// results of ApplyRoutes.
type tableWithFaults struct {
	refuses map[string]error
	fault   func([]provider.RouteResult) ([]provider.RouteResult, error)

	mu      sync.Mutex
	routes  map[string]bool // by destination; guarded by mu
	calls   []string        // guarded by mu
	changes int             // the number of changes that ApplyRoutes got; guarded by mu
}

func (f *tableWithFaults) change(create, remove *cloudprovider.Route) error {
	var cidr string
	if create != nil {
		cidr = create.DestinationCIDR
	} else {
		cidr = remove.DestinationCIDR
	}
	if err := f.refuses[cidr]; err != nil {
		return err
	}
	if f.routes == nil {
		f.routes = map[string]bool{}
	}
	if f.routes[cidr] = create != nil; create == nil {
		delete(f.routes, cidr)
	}
	return nil
}

func (f *tableWithFaults) called(call string) {
	f.calls = append(f.calls, call)
}

// routesOf returns the Routes of a gateway that calls this provider.
func (f *tableWithFaults) routesOf(t *testing.T, most int) *Routes {
	t.Helper()
	one := table(func(_ context.Context, call, _ string, route *cloudprovider.Route) ([]*cloudprovider.Route, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		verb, _, _ := strings.Cut(call, " ")
		f.called(verb + " " + route.DestinationCIDR)
		if verb == "Create" {
			return nil, f.change(route, nil)
		}
		return nil, f.change(nil, route)
	})
	many := func(_ context.Context, changes []provider.RouteChange) ([]provider.RouteResult, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.called("Apply " + strconv.Itoa(len(changes)))
		f.changes += len(changes)
		var results []provider.RouteResult
		for n, c := range changes {
			results = append(results, provider.RouteResult{Change: n, Err: f.change(c.Create, c.Delete)})
		}
		if f.fault != nil {
			return f.fault(results)
		}
		return results, nil
	}
	return gateway(t, vendor{routes: &applyingTable{one, most, many}}, Config{ClusterName: "c", ChangeTimeout: time.Minute}).Routes()
}

func cidr(n int) string { return fmt.Sprintf("10.%d.%d.0/24", n/256, n%256) }

// changeTogether makes the changes at the same time and returns their errors by CIDR.
func changeTogether(t *testing.T, r *Routes, creations, deletions []string) map[string]error {
	t.Helper()
	errs := map[string]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	run := func(cidr string, f func() error) {
		all.Go(func() {
			err := f()
			mu.Lock()
			defer mu.Unlock()
			errs[cidr] = err
		})
	}
	for _, cidr := range creations {
		run(cidr, func() error { return r.Create(t.Context(), "", Route{CIDR: cidr, Node: "n" + cidr}) })
	}
	for _, cidr := range deletions {
		run(cidr, func() error { return r.Delete(t.Context(), Route{CIDR: cidr, Name: "r" + cidr}) })
	}
	all.Wait()
	return errs
}

func TestRoutesAreChangedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &tableWithFaults{}
		r := f.routesOf(t, 1000)
		const n, workers = 1000, 200
		jobs := make(chan int, n)
		for i := range n {
			jobs <- i
		}
		close(jobs)
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for i := range jobs {
					if err := r.Create(t.Context(), "hint", Route{CIDR: cidr(i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if len(f.routes) != n || len(f.calls) > n/workers+1 {
			t.Errorf("%d routes after %d calls, want %d after %d", len(f.routes), len(f.calls), n, n/workers)
		}
	})
}

func TestRouteThatIsAloneIsChangedAsWithoutTheInterface(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &tableWithFaults{}
		if err := f.routesOf(t, 10).Create(t.Context(), "", Route{CIDR: cidr(1)}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"Create " + cidr(1)}, f.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// Whatever the provider answers to a call about many routes, no route is lost and
// no wrong route is deleted.
func TestFaultsOfACallAboutManyRoutes(t *testing.T) {
	broken := errors.New("broken")
	type results = []provider.RouteResult
	for _, tt := range []struct {
		name  string
		fault func(results) (results, error)
		alone int  // the number of routes that are then changed one by one
		kind  Kind // the kind of the error of the other routes; empty: no error
	}{
		{"NoFault", nil, 0, ""},
		{"OutOfOrder", func(r results) (results, error) { slices.Reverse(r); return r, nil }, 0, ""},
		{"Duplicates", func(r results) (results, error) { return append(r, r...), nil }, 0, ""},
		{"DuplicatesThatDiffer", func(r results) (results, error) {
			return append(r, provider.RouteResult{Change: 1, Err: broken}), nil
		}, 1, ""},
		{"FewerResults", func(r results) (results, error) { return r[:3], nil }, 3, ""},
		{"NoResults", func(results) (results, error) { return nil, nil }, 6, ""},
		{"IndexesFromOne", func(r results) (results, error) {
			for n := range r {
				r[n].Change++
			}
			return r, nil
		}, 6, ""},
		{"IndexesBelowZero", func(r results) (results, error) { r[5].Change = -1; return r, nil }, 6, ""},
		{"NoIndexes", func(r results) (results, error) {
			for n := range r {
				r[n].Change = 0
			}
			return r, nil
		}, 5, ""},
		{"ErrorBesideResults", func(r results) (results, error) { return r, broken }, 6, ""},
		{"Error", func(results) (results, error) { return nil, broken }, 6, ""},
		{"NotImplemented", func(results) (results, error) { return nil, cloudprovider.NotImplemented }, 6, ""},
		{"Panic", func(results) (results, error) { panic("broken") }, 6, ""},
		{"ErrorThatPanics", func(results) (results, error) { return nil, (*ring)(nil) }, 6, ""},
		{"Denied", func(results) (results, error) { return nil, httpError(403) }, 0, Denied},
		{"Unavailable", func(results) (results, error) { return nil, httpError(503) }, 0, Unavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &tableWithFaults{routes: map[string]bool{cidr(4): true, cidr(5): true, cidr(6): true, cidr(9): true}, fault: tt.fault}
				errs := changeTogether(t, f.routesOf(t, 100), []string{cidr(1), cidr(2), cidr(3)}, []string{cidr(4), cidr(5), cidr(6)})
				for cidr, err := range errs {
					if KindOf(err) != cmpKind(tt.kind) {
						t.Errorf("%s: %v, want %q", cidr, err, tt.kind)
					}
				}
				if alone := len(f.calls) - 1; alone != tt.alone || f.calls[0] != "Apply 6" {
					t.Errorf("calls: %v, want one about 6 routes, and then %d", f.calls, tt.alone)
				}
				want := map[string]bool{cidr(1): true, cidr(2): true, cidr(3): true, cidr(9): true}
				if diff := cmp.Diff(want, f.routes); diff != "" {
					t.Errorf("table (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func cmpKind(k Kind) Kind {
	if k == "" {
		return Succeeded
	}
	return k
}

func TestFailureOfOneRouteIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := httpError(409)
		f := &tableWithFaults{refuses: map[string]error{cidr(2): full}, routes: map[string]bool{cidr(3): true}}
		errs := changeTogether(t, f.routesOf(t, 100), []string{cidr(1), cidr(2)}, []string{cidr(3)})
		if errs[cidr(1)] != nil || errs[cidr(3)] != nil || !errors.Is(errs[cidr(2)], full) || KindOf(errs[cidr(2)]) != Conflict {
			t.Errorf("errors: %v", errs)
		}
		if len(f.calls) != 1 {
			t.Errorf("calls: %v, want one", f.calls)
		}
	})
}

// If one route makes the whole call fail, the other routes are still changed.
func TestRouteThatFailsTheCallIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &tableWithFaults{refuses: map[string]error{cidr(2): errors.New("no such target")}}
		f.fault = func(r []provider.RouteResult) ([]provider.RouteResult, error) {
			for _, one := range r {
				if one.Err != nil {
					return nil, one.Err
				}
			}
			return r, nil
		}
		r := f.routesOf(t, 100)
		if errs := changeTogether(t, r, []string{cidr(1), cidr(2), cidr(3)}, nil); errs[cidr(1)] != nil || errs[cidr(2)] == nil || errs[cidr(3)] != nil {
			t.Errorf("errors: %v", errs)
		}
		f.calls = nil
		changeTogether(t, r, []string{cidr(5), cidr(6)}, nil)
		if slices.Contains(f.calls, "Apply 2") {
			t.Errorf("calls: %v, want none about many for a while", f.calls)
		}
		time.Sleep(aloneFor)
		f.calls = nil
		changeTogether(t, r, []string{cidr(7), cidr(8)}, nil)
		if diff := cmp.Diff([]string{"Apply 2"}, f.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// If a call about many routes hangs, changes of these routes have to wait until the
// call returns. The call counts as one abandoned change, and does not delay other
// routes.
func TestCallAboutManyRoutesThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &tableWithFaults{}
		r := f.routesOf(t, 100)
		f.fault = func(r []provider.RouteResult) ([]provider.RouteResult, error) {
			f.mu.Unlock()
			time.Sleep(time.Hour)
			f.mu.Lock()
			return r, nil
		}
		many := make([]string, 3*maxAbandoned)
		for n := range many {
			many[n] = cidr(n)
		}
		for cidr, err := range changeTogether(t, r, many, nil) {
			if KindOf(err) != TimedOut {
				t.Errorf("%s: %v, want %v", cidr, err, TimedOut)
			}
		}
		if err := restartOf(r.gateway); err != nil {
			t.Errorf("restart for one call: %v", err)
		}
		if errs := changeTogether(t, r, []string{cidr(0), cidr(100), cidr(101)}, nil); KindOf(errs[cidr(0)]) != Slow || errs[cidr(100)] != nil || errs[cidr(101)] != nil {
			t.Errorf("errors: %v, want the route of the hanging call to wait, and no other", errs)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		f.fault = nil
		if errs := changeTogether(t, r, []string{cidr(0), cidr(1)}, nil); errs[cidr(0)] != nil || errs[cidr(1)] != nil {
			t.Errorf("errors: %v after the call has returned", errs)
		}
	})
}

func TestChangesForOneCIDRAreNeverInOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &tableWithFaults{}
		r := f.routesOf(t, 100)
		var refused atomic.Int32
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := r.Create(t.Context(), "", Route{CIDR: cidr(1)}); KindOf(err) == Slow {
					refused.Add(1)
				}
			})
		}
		all.Wait()
		if refused.Load() != 2 || len(f.calls) != 1 {
			t.Errorf("%d changes were refused, calls: %v", refused.Load(), f.calls)
		}
	})
}

func TestThrottledCallAboutManyRoutesIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &tableWithFaults{}
		f.fault = func(r []provider.RouteResult) ([]provider.RouteResult, error) {
			if len(f.calls) == 1 {
				return nil, httpError(429)
			}
			return r, nil
		}
		if errs := changeTogether(t, f.routesOf(t, 100), []string{cidr(1), cidr(2)}, nil); errs[cidr(1)] != nil || errs[cidr(2)] != nil {
			t.Errorf("errors: %v", errs)
		}
		if diff := cmp.Diff([]string{"Apply 2", "Apply 2"}, f.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// One route that is refused in a call about many says nothing about others, and two do.
func TestThrottledRoutesSlowCallsDown(t *testing.T) {
	for _, limited := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := &tableWithFaults{refuses: map[string]error{cidr(1): httpError(429)}}
			if limited {
				f.refuses[cidr(3)] = httpError(429)
			}
			r := f.routesOf(t, 100)
			if errs := changeTogether(t, r, []string{cidr(1), cidr(2), cidr(3)}, nil); KindOf(errs[cidr(1)]) != Throttled || errs[cidr(2)] != nil {
				t.Errorf("errors: %v", errs)
			}
			if state := r.gateway.State(); strings.Contains(state, "routes, Throttled") != limited {
				t.Errorf("the cloud %s; calls about routes are to be limited: %v", state, limited)
			}
		})
	}
}

func TestRouteChangesEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &tableWithFaults{}
		r := f.routesOf(t, 100)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Create(ctx, "", Route{CIDR: cidr(1)}); KindOf(err) != Canceled || len(f.calls) > 0 {
			t.Errorf("%v after the calls %v", err, f.calls)
		}
	})
}

// TestResultsOfACall checks the rule of FuzzResultsOfACall with random answers.
func TestResultsOfACall(t *testing.T) {
	random := rand.New(rand.NewPCG(19, 1))
	for range 10_000 {
		theirs := make([]byte, random.IntN(8))
		for i := range theirs {
			theirs[i] = byte(random.IntN(12))
		}
		checkResults(t, theirs, random.IntN(5))
	}
}

// FuzzResultsOfACall checks which results of a provider count. An object has
// succeeded only if the provider has returned a success for it, and no failure.
func FuzzResultsOfACall(f *testing.F) {
	f.Add([]byte{2, 4, 6}, uint8(3))
	f.Add([]byte{3, 2, 9}, uint8(2))
	f.Fuzz(func(t *testing.T, theirs []byte, asked uint8) { checkResults(t, theirs, int(asked%16)) })
}

// checkResults reads one result from each byte. A result is a success or a
// failure, for an object with an index of -1 or more.
func checkResults(t *testing.T, theirs []byte, n int) {
	t.Helper()
	failed := errors.New("failed")
	of := func(b byte) (int, error) {
		if b%2 == 1 {
			return int(b/2) - 1, failed
		}
		return int(b/2) - 1, nil
	}
	outside := slices.ContainsFunc(theirs, func(b byte) bool { i, _ := of(b); return i < 0 || i >= n })
	results := resultsFor(n, theirs, of)
	if len(results) != n {
		t.Fatalf("%d results for %d objects", len(results), n)
	}
	for i, result := range results {
		var successes, failures int
		for _, b := range theirs {
			switch index, err := of(b); {
			case index != i:
			case err == nil:
				successes++
			default:
				failures++
			}
		}
		wantKnown := !outside && (successes > 0) != (failures > 0)
		if result.known != wantKnown || wantKnown && (result.err == nil) != (successes > 0) || !wantKnown && result.err != nil {
			t.Errorf("%v: object %d: %v after %d successes and %d failures, outside: %v", theirs, i, result, successes, failures, outside)
		}
	}
}
