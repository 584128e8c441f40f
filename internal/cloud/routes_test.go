package cloud

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
)

// table is a Routes whose methods call the function.
type table func(ctx context.Context, call, hint string, route *cloudprovider.Route) ([]*cloudprovider.Route, error)

func (f table) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	return f(ctx, "List "+cluster, "", nil)
}

func (f table) CreateRoute(ctx context.Context, cluster, hint string, route *cloudprovider.Route) error {
	_, err := f(ctx, "Create "+cluster, hint, route)
	return err
}

func (f table) DeleteRoute(ctx context.Context, cluster string, route *cloudprovider.Route) error {
	_, err := f(ctx, "Delete "+cluster, "", route)
	return err
}

func routes(t *testing.T, f table, cfg Config) *Routes {
	t.Helper()
	cfg.ClusterName = "c"
	return gateway(t, vendor{routes: f}, cfg).Routes()
}

func TestRoutesPassThrough(t *testing.T) {
	address := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	theirs := &cloudprovider.Route{
		Name: "r1", TargetNode: "n1", DestinationCIDR: "10.244.1.0/24", Blackhole: true, EnableNodeAddresses: true, TargetNodeAddresses: address,
	}
	ours := Route{Name: "r1", Node: "n1", CIDR: "10.244.1.0/24", Blackhole: true, Addressed: true, Addresses: address}
	var got []any
	r := routes(t, func(_ context.Context, call, hint string, route *cloudprovider.Route) ([]*cloudprovider.Route, error) {
		got = append(got, call, hint)
		if route != nil {
			got = append(got, *route)
			route.TargetNodeAddresses[0].Address = "changed by the provider"
		}
		return []*cloudprovider.Route{theirs}, nil
	}, Config{})
	listed, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Route{ours}, listed); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	if err := errors.Join(r.Create(t.Context(), "hint", ours), r.Delete(t.Context(), ours)); err != nil {
		t.Fatal(err)
	}
	want := []any{"List c", "", "Create c", "hint", *theirs, "Delete c", "", *theirs}
	if diff := cmp.Diff(want, got, cmp.Transformer("unchanged", func(r cloudprovider.Route) cloudprovider.Route {
		r.TargetNodeAddresses = nil // The provider has changed its own copies.
		return r
	})); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if ours.Addresses[0].Address != "10.0.0.1" || listed[0].Addresses[0].Address != "10.0.0.1" {
		t.Error("the provider has changed what is ours")
	}
}

func TestListThatIsAnError(t *testing.T) {
	for _, tt := range []struct {
		name string
		list []*cloudprovider.Route
		err  error
		kind Kind
	}{
		{"NilRoute", []*cloudprovider.Route{nil}, nil, Failed},
		{"Error", nil, errors.New("no"), Failed},
		{"NotImplemented", nil, cloudprovider.NotImplemented, NotImplemented},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := routes(t, func(context.Context, string, string, *cloudprovider.Route) ([]*cloudprovider.Route, error) {
				return tt.list, tt.err
			}, Config{})
			if _, err := r.List(t.Context()); KindOf(err) != tt.kind {
				t.Errorf("error %v, want one of the kind %v", err, tt.kind)
			}
		})
	}
}

func TestListAfterItsDeadlineIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := routes(t, func(context.Context, string, string, *cloudprovider.Route) ([]*cloudprovider.Route, error) {
			time.Sleep(2 * time.Second) // The provider gives up and drops the error.
			return nil, nil
		}, Config{ReadTimeout: time.Second})
		if _, err := r.List(t.Context()); KindOf(err) != TimedOut {
			t.Errorf("error %v, want %v", err, TimedOut)
		}
	})
}

func TestThrottledChangeOfARouteIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		r := routes(t, func(context.Context, string, string, *cloudprovider.Route) ([]*cloudprovider.Route, error) {
			if calls.Add(1) < 3 {
				return nil, errors.New("too many requests")
			}
			return nil, nil
		}, Config{})
		if err := r.Create(t.Context(), "", Route{CIDR: "10.244.1.0/24"}); err != nil || calls.Load() != 3 {
			t.Errorf("%v after %d calls, want success with the third", err, calls.Load())
		}
		calls.Store(-100)
		if err := r.Create(t.Context(), "", Route{CIDR: "10.244.1.0/24"}); KindOf(err) != Throttled || calls.Load() != -100+maxTries {
			t.Errorf("%v after %d calls, want an end", err, calls.Load()+100)
		}
	})
}

// A change that waits for the quota fails after maxQuotaWait. That is long before the
// health check finds that the worker is stuck.
func TestChangeWaitsForTheQuotaForABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := routes(t, func(context.Context, string, string, *cloudprovider.Route) ([]*cloudprovider.Route, error) {
			return nil, httpError(429)
		}, Config{Ceiling: Ceiling{PerSecond: 0.001}})
		began := time.Now()
		_ = r.Create(t.Context(), "", Route{CIDR: "10.244.1.0/24", Node: "a"})
		err := r.Create(t.Context(), "", Route{CIDR: "10.244.2.0/24", Node: "b"})
		if waited := time.Since(began); KindOf(err) != Throttled || waited > 2*maxQuotaWait {
			t.Errorf("%v after %v, want Throttled after at most %v for each", err, waited, maxQuotaWait)
		}
	})
}

func TestChangesForOneCIDRNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		r := routes(t, func(context.Context, string, string, *cloudprovider.Route) ([]*cloudprovider.Route, error) {
			calls.Add(1)
			time.Sleep(time.Hour)
			return nil, nil
		}, Config{ChangeTimeout: time.Minute})
		one, other := Route{CIDR: "10.244.1.0/24"}, Route{CIDR: "10.244.2.0/24"}
		if err := r.Delete(t.Context(), one); KindOf(err) != TimedOut {
			t.Errorf("error %v, want %v", err, TimedOut)
		}
		if err := r.Create(t.Context(), "", one); KindOf(err) != Slow || calls.Load() != 1 {
			t.Errorf("error %v after %d calls, want the creation to be refused", err, calls.Load())
		}
		if err := r.Create(t.Context(), "", other); KindOf(err) != TimedOut || calls.Load() != 2 {
			t.Errorf("error %v after %d calls, want another CIDR not to be held up", err, calls.Load())
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestRoutesThatNobodyNeedsAreNotAskedFor(t *testing.T) {
	if gateway(t, vendor{routes: table(nil)}, Config{WithoutRoutes: true}).Routes() != nil {
		t.Error("there are routes")
	}
	if gateway(t, vendor{}, Config{}).Routes() != nil {
		t.Error("routes of a provider that offers none")
	}
}

// After an error of List, IsUnderWay reports whether the question is still under way.
// If it is, the next caller may get its answer.
func TestListThatIsUnderWay(t *testing.T) {
	for _, tt := range []struct {
		name     string
		isDown   bool // calls about Nodes fail before
		first    func() error
		kind     Kind
		underWay bool
	}{
		{"CallHangs", false, func() error { time.Sleep(time.Minute); return nil }, Slow, true},
		{"QuotaIsUsedUp", false, func() error { return errors.Join(httpError(429), api.NewRetryError("later", time.Minute)) }, Throttled, true},
		{"QuotaIsUsedUpByTheText", false, func() error {
			return errors.Join(errors.New("rate limit exceeded"), api.NewRetryError("later", 20*time.Second))
		}, Throttled, true},
		{"HeldInAnOutage", true, func() error { return httpError(503) }, Unavailable, true},
		{"CloudFails", false, func() error { return httpError(503) }, Unavailable, false},
		{"Panic", false, func() error { panic("no") }, Panicked, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int32
				g := gateway(t, vendor{
					v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
						return nil, httpError(503)
					}),
					routes: table(func(context.Context, string, string, *cloudprovider.Route) ([]*cloudprovider.Route, error) {
						if calls.Add(1) == 1 {
							return nil, tt.first()
						}
						return nil, nil
					}),
				}, Config{CallerTimeout: time.Second})
				for n := 0; tt.isDown && n < 3; n++ {
					_, _ = g.Instances().Metadata(t.Context(), node(strconv.Itoa(n)))
				}
				if _, err := g.Routes().List(t.Context()); KindOf(err) != tt.kind || IsUnderWay(err) != tt.underWay {
					t.Errorf("%v, %v, under way: %t; want %v, %t", KindOf(err), err, IsUnderWay(err), tt.kind, tt.underWay)
				}
				time.Sleep(2 * time.Minute)
			})
		})
	}
}
