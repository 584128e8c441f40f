package cloud

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
)

// setter is a balancer that can also set the nodes of many load balancers with one
// call.
type setter struct {
	balancer

	set func(services []*corev1.Service, nodes []*corev1.Node) ([]provider.BackendResult, error)
}

func (s setter) SetBackends(_ context.Context, _ string, services []*corev1.Service, nodes []*corev1.Node) ([]provider.BackendResult, error) {
	return s.set(services, nodes)
}

func (setter) MaxBackendServices() int { return 100 }

// Whatever the provider answers to a call about many Services, UpdateMany returns the
// result for each Service, or ErrAlone if that Service needs a call of its own.
func TestFaultsOfACallAboutManyServices(t *testing.T) {
	broken := errors.New("broken")
	type results = []provider.BackendResult
	alone := Kind("alone")
	for _, tt := range []struct {
		name  string
		fault func(results) (results, error)
		want  []Kind // of each Service
		most  int    // MaxUpdates after the call
	}{
		{"NoFault", func(r results) (results, error) { return r, nil }, []Kind{Succeeded, Succeeded, Succeeded}, 100},
		{"OutOfOrder", func(r results) (results, error) { slices.Reverse(r); r[0].Err = broken; return r, nil }, []Kind{Succeeded, Succeeded, Failed}, 100},
		{"FewerResults", func(r results) (results, error) { return r[:1], nil }, []Kind{Succeeded, alone, alone}, 100},
		{"DuplicatesThatDiffer", func(r results) (results, error) {
			return append(r, provider.BackendResult{Service: 0, Err: broken}), nil
		}, []Kind{alone, Succeeded, Succeeded}, 100},
		{"IndexesFromOne", func(r results) (results, error) {
			for n := range r {
				r[n].Service++
			}
			return r, nil
		}, []Kind{alone, alone, alone}, 100},
		{"ErrorBesideResults", func(r results) (results, error) { return r, broken }, []Kind{alone, alone, alone}, 0},
		{"Panic", func(results) (results, error) { panic("broken") }, []Kind{alone, alone, alone}, 0},
		{"Throttled", func(results) (results, error) { return nil, httpError(429) }, []Kind{Throttled, Throttled, Throttled}, 100},
		{"Unavailable", func(results) (results, error) { return nil, httpError(503) }, []Kind{Unavailable, Unavailable, Unavailable}, 100},
		{"Hangs", func(r results) (results, error) { time.Sleep(time.Hour); return r, nil }, []Kind{TimedOut, TimedOut, TimedOut}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := balancers(t, setter{set: func(services []*corev1.Service, nodes []*corev1.Node) ([]provider.BackendResult, error) {
					r := make(results, len(services))
					for n, s := range services {
						r[n].Service, s.Name = n, "changed by the provider"
					}
					nodes[0] = nil
					return tt.fault(r)
				}}, Config{ChangeTimeout: time.Minute})
				services, nodes := []*corev1.Service{service("a"), service("b"), service("c")}, []*corev1.Node{node("n")}
				var got []Kind
				for _, err := range l.UpdateMany(t.Context(), services, nodes) {
					if errors.Is(err, ErrAlone) {
						got = append(got, alone)
						continue
					}
					got = append(got, KindOf(err))
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if services[0].Name != "a" || nodes[0] == nil {
					t.Error("the provider has changed what belongs to the caller")
				}
				if got := l.MaxUpdates(); got != tt.most {
					t.Errorf("the next call may be about %d Services, want %d", got, tt.most)
				}
				if err := restartOf(l.gateway); err != nil {
					t.Errorf("restart: %v", err)
				}
				time.Sleep(2 * time.Hour)
				if got := l.MaxUpdates(); got != 100 {
					t.Errorf("later a call may be about %d Services, want 100", got)
				}
			})
		})
	}
}

// A call about many Services leaves out a Service if another call about that
// Service is under way.
func TestCallAboutManyServicesOverlapsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		l := balancers(t, setter{
			balancer: func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
				time.Sleep(time.Minute)
				return nil, nil
			},
			set: func(services []*corev1.Service, _ []*corev1.Node) ([]provider.BackendResult, error) {
				for _, s := range services {
					asked = append(asked, s.Name)
				}
				return []provider.BackendResult{{}}, nil
			},
		}, Config{})
		go func() { _ = l.Delete(t.Context(), service("a")) }()
		synctest.Wait()
		errs := l.UpdateMany(t.Context(), []*corev1.Service{service("a"), service("b")}, nil)
		if KindOf(errs[0]) != Slow || errs[1] != nil || !slices.Equal(asked, []string{"b"}) {
			t.Errorf("errors %v, asked about %v", errs, asked)
		}
		if errs := l.UpdateMany(t.Context(), []*corev1.Service{service("a")}, nil); KindOf(errs[0]) != Slow || len(asked) != 1 {
			t.Errorf("errors %v, asked about %v", errs, asked)
		}
		time.Sleep(time.Hour)
	})
}

// A panic of a call about many Services is not repeated every minute: its pause is
// that of any call that has panicked.
func TestCallAboutManyServicesThatPanicsIsRarelyRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics := 0
		l := balancers(t, setter{set: func([]*corev1.Service, []*corev1.Node) ([]provider.BackendResult, error) {
			panics++
			panic("broken")
		}}, Config{})
		services, nodes := []*corev1.Service{service("a"), service("b")}, []*corev1.Node{node("n")}
		for end := time.Now().Add(time.Hour); time.Now().Before(end); time.Sleep(time.Second) {
			if l.MaxUpdates() == 0 {
				continue
			}
			for _, err := range l.UpdateMany(t.Context(), services, nodes) {
				if !errors.Is(err, ErrAlone) {
					t.Fatalf("got %v, want that each Service is updated alone", err)
				}
			}
		}
		if panics != 6 {
			t.Errorf("%d panics in an hour, want one in 10 minutes", panics)
		}
	})
}

// If the cloud refuses the Services of one namespace in a call about many, only these wait:
// the next call does not name them, and the calls of the class are not limited.
func TestRefusedServicesLeaveCallsAboutMany(t *testing.T) {
	of := func(namespace, name string) *corev1.Service {
		s := service(name)
		s.Namespace = namespace
		return s
	}
	shop := []*corev1.Service{of("shop", "a"), of("shop", "b"), of("shop", "c")}
	for _, tt := range []struct {
		name   string
		refuse func(asked []*corev1.Service) ([]provider.BackendResult, error)
		first  []*corev1.Service // the Services of the call that is refused
	}{
		{"EachResult", func(asked []*corev1.Service) (results []provider.BackendResult, err error) {
			for n, s := range asked {
				r := provider.BackendResult{Service: n}
				if s.Namespace == "shop" {
					r.Err = httpError(429)
				}
				results = append(results, r)
			}
			return results, nil
		}, append(slices.Clone(shop), of("other", "d"))},
		{"WholeCallOfOneNamespace", func(asked []*corev1.Service) ([]provider.BackendResult, error) {
			if asked[0].Namespace == "shop" {
				return nil, httpError(429)
			}
			return []provider.BackendResult{{Service: 0}, {Service: 1}}, nil
		}, shop},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				down := true
				l := balancers(t, setter{set: func(services []*corev1.Service, _ []*corev1.Node) (results []provider.BackendResult, err error) {
					asked = nil
					for n, s := range services {
						asked, results = append(asked, s.Name), append(results, provider.BackendResult{Service: n})
					}
					if down {
						return tt.refuse(services)
					}
					return results, nil
				}}, Config{})
				_ = l.UpdateMany(t.Context(), tt.first, nil)
				all := append(slices.Clone(shop), of("other", "d"), of("other", "e"))
				errs := l.UpdateMany(t.Context(), all, nil)
				if diff := cmp.Diff([]string{"d", "e"}, asked); diff != "" {
					t.Errorf("Services of the call after a refusal (-want +got):\n%s", diff)
				}
				if KindOf(errs[0]) != Throttled || RetryAfter(errs[0]) == 0 || errs[3] != nil || errs[4] != nil {
					t.Errorf("got %v, want that only the Services of the refused namespace wait, and for how long", errs)
				}
				if limits := l.gateway.Limit(); limits != (Limit{}) {
					t.Errorf("calls are limited: %+v", limits)
				}
				down = false
				for range 3 { // One answer makes up for each refused call.
					time.Sleep(recently)
					_ = l.UpdateMany(t.Context(), all, nil)
				}
				if p := l.gateway.limiter.classes[0].failures.paused["namespace shop"]; p.times > 0 {
					t.Errorf("%d refused calls were not made up for by answers", p.times)
				}
				time.Sleep(lately)
				_ = l.UpdateMany(t.Context(), all, nil)
				if len(asked) != len(all) {
					t.Errorf("asked about %q after the cloud answered again, want all", asked)
				}
			})
		})
	}
}
