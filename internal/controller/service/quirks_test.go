package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// unaddressed removes the address, as the API server does when the type of a Service
// changes.
func unaddressed(s *corev1.Service) { s.Status.LoadBalancer = corev1.LoadBalancerStatus{} }

// lose deletes the Service by force: the finalizer is ignored.
func lose(l *life) {
	if err := l.cluster.CoreV1().Services("ns").Delete(l.t.Context(), "s", metav1.DeleteOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

// The events of a Service that is gone are upstream's, in upstream's order.
func TestServiceThatIsGoneHasEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.calls, l.events = nil, nil
		l.failsEach("delete s")
		lose(l)
		l.after(2 * time.Second)
		l.expect("failed", list("delete s"), list("s DeletingLoadBalancer", "s DeleteLoadBalancerFailed"))
		l.failsEach()
		l.after(time.Minute)
		l.expect("retried", list("delete s"), list("s DeletedLoadBalancer"))
	})
}

// Linode's provider deletes the load balancer whose address is in the status.
func TestLoadBalancerThatIsFoundByItsAddressIsNotLeftBehind(t *testing.T) {
	for name, end := range map[string]func(*life){
		"Deleted":               func(l *life) { l.update(terminating) },
		"DeletedByForce":        lose,
		"RecreatedUnderItsName": func(l *life) { lose(l); l.create(balanced(replaced, internal)) },
		"OfAnotherType":         func(l *life) { l.update(internal, unaddressed) },
		"OfAnotherClass":        func(l *life) { l.update(class("theirs"), unaddressed) },
		"OfAnotherTypeAfterARestart": func(l *life) {
			l.stop()
			l.change(func() { l.takes = time.Minute })
			l.start()
			l.after(time.Second)
			l.update(internal, unaddressed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, balanced(), host("a"))
				defer func() { l.stop() }()
				l.change(func() { l.byAddress = true })
				l.after(time.Minute)
				end(l)
				l.after(10 * time.Minute)
				if len(l.balancers) > 0 {
					t.Errorf("load balancers %v are left behind, calls %v", l.balancers, l.calls)
				}
			})
		})
	}
}

// annotated is an edit that a provider can reject.
func annotated(s *corev1.Service) { s.Annotations = map[string]string{"size": "wrong"} }

// failsEach makes these calls fail, and all other calls succeed.
func (l *life) failsEach(calls ...string) {
	l.change(func() {
		l.fail = func(call string) error {
			if slices.Contains(calls, call) {
				return errors.New("no")
			}
			return nil
		}
	})
}

// replaceNode adds a Node and deletes the previous Node, as a node pool does when it
// gets new machines.
func (l *life) replaceNode(generation int) {
	l.t.Helper()
	l.create(host(fmt.Sprint("n", generation)))
	before := fmt.Sprint("n", generation-1)
	if generation == 0 {
		before = "a"
	}
	if err := l.cluster.CoreV1().Nodes().Delete(l.t.Context(), before, metav1.DeleteOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

func TestBackendsFollowTheNodesWhileEnsureFails(t *testing.T) {
	for name, begins := range map[string]func(*life){
		"OfAnEditedService": func(l *life) { l.failsEach("ensure s"); l.update(annotated) },
		"OfAResync":         func(l *life) { l.failsEach("ensure s"); l.after(2 * time.Hour) },
		"AfterARestart":     func(l *life) { l.failsEach("ensure s"); l.stop(); l.start() },
		"AfterAFailedUpdate": func(l *life) {
			l.failsEach("ensure s", "update s")
			l.create(host("extra"))
			l.after(2 * time.Second)
			l.failsEach("ensure s")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{Policy: Policy{Resync: time.Hour}}, balanced(), host("a"))
				defer func() { l.stop() }()
				l.after(time.Minute)
				begins(l)
				l.after(time.Minute)
				l.change(func() { l.calls, l.events = nil, nil })
				const sets = 5
				for generation := range sets {
					l.replaceNode(generation)
					l.after(20 * time.Minute)
				}
				if newest := fmt.Sprint("n", sets-1); !slices.Contains(l.balancers["u1"], newest) {
					t.Errorf("backends %v, want the newest node %s", l.balancers["u1"], newest)
				}
				updates := 0
				for _, call := range l.calls {
					if call == "update s" {
						updates++
					}
				}
				if updates < sets || updates > 2*sets { // If the old Node leaves only after the new Node has joined, there are two sets.
					t.Errorf("%d updates for %d replaced Nodes: %v", updates, sets, l.calls)
				}
				if c := findCondition(l.service(), ConditionProvisioning); c.Status != metav1.ConditionTrue || c.Reason != "CloudFailed" {
					t.Errorf("condition %+v, want the failure of Ensure", c)
				}
			})
		})
	}
}

func TestUpdateThatFailsWhileEnsureFailsIsMadeOnceForEachFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.failsEach("ensure s", "update s")
		l.update(annotated)
		l.after(time.Minute)
		l.change(func() { l.calls, l.events = nil, nil })
		l.replaceNode(0)
		l.after(time.Hour)
		ensures, updates := 0, 0
		for _, call := range l.calls {
			if call == "ensure s" {
				ensures++
			} else {
				updates++
			}
		}
		// The replacement makes two sets: the new Node joins, and then the old Node
		// leaves. Each set is tried once. After each failure of Ensure, there is one
		// more update.
		if updates < 3 || updates > ensures+2 || ensures > 20 {
			t.Errorf("%d updates beside %d calls of Ensure: %v", updates, ensures, l.calls)
		}
		failures := slices.DeleteFunc(slices.Clone(l.events), func(e string) bool { return e != "s UpdateLoadBalancerFailed" })
		if len(failures) > 3 {
			t.Errorf("events %v in an hour", l.events)
		}
		l.failsEach("ensure s")
		l.after(6 * time.Minute)
		if got := l.balancers["u1"]; !slices.Equal(got, list("n0")) {
			t.Errorf("backends %v once updates succeed, want the newest set", got)
		}
	})
}

// If calls take longer than the delay after a failure, the next Ensure is always due.
// So the update of the backends has to come before that Ensure.
func TestBackendsFollowTheNodesWhileSlowCallsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(named("s1")), balanced(named("s2")), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.failsEach("ensure s1", "ensure s2")
		l.change(func() { l.takes = 3 * time.Minute })
		for _, name := range list("s1", "s2") {
			service, err := l.cluster.CoreV1().Services("ns").Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			annotated(service)
			service.ResourceVersion = "5000"
			if _, err := l.cluster.CoreV1().Services("ns").Update(t.Context(), service, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		l.after(5 * time.Minute)
		l.replaceNode(0)
		l.after(20 * time.Minute)
		for _, uid := range []types.UID{"u-s1", "u-s2"} {
			if got := l.balancers[uid]; !slices.Equal(got, list("n0")) {
				t.Errorf("backends of %s are %v, want the newest set; calls %v", uid, got, l.calls)
			}
		}
	})
}

// refusals returns the errors that the API server can return for each write.
func refusals() map[string]error {
	return map[string]error{
		"WebhookRejects": apierrors.NewForbidden(corev1.Resource("services"), "s", errors.New("a webhook says no")),
		"WebhookFails":   apierrors.NewInternalError(errors.New("failed calling webhook")),
	}
}

// A webhook that refuses conditions does not keep the backends from following the Nodes.
func TestRefusedConditionDoesNotDelayAnUpdate(t *testing.T) {
	for name, refusal := range refusals() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, balanced(), host("a"))
				defer func() { l.stop() }()
				l.after(time.Minute)
				l.failsEach("ensure s")
				l.change(func() { l.refuse = refusal })
				l.update(annotated)
				l.after(10 * time.Minute)
				for generation := range 3 {
					l.replaceNode(generation)
					l.after(10 * time.Second)
					if got := l.balancers["u1"]; !slices.Equal(got, list(fmt.Sprint("n", generation))) {
						t.Errorf("backends %v, want the newest set %d", got, generation)
					}
				}
			})
		})
	}
}

// A Service shows that a call is about to be made. During the first call, the API
// server begins to refuse all writes, and all later calls fail. The controller must not
// try all the time to write a newer condition.
func TestRefusedConditionIsNotWrittenInALoop(t *testing.T) {
	for name, refusal := range refusals() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, host("a"))
				defer func() { l.stop() }()
				l.change(func() {
					l.fail = func(string) error {
						if l.refuse == nil {
							l.refuse = refusal
							return nil
						}
						return errors.New("no")
					}
				})
				l.create(balanced())
				l.after(time.Minute)
				l.replaceNode(0)
				l.after(10 * time.Minute)
				if got := l.patches(); got > 100 {
					t.Errorf("%d writes in 11 minutes", got)
				}
			})
		})
	}
}

// Updates of the backends are tried between two calls of Ensure. They do not shorten
// the delay of a refused condition.
func TestRefusedConditionIsWrittenRarelyWhileAllCallsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() {
			l.fail = func(call string) error {
				return &cloud.Error{Call: call, Kind: cloud.Throttled, RetryAfter: 5 * time.Second, Err: errors.New("no")}
			}
			l.refuse = refusals()["WebhookFails"]
		})
		l.update(annotated)
		l.replaceNode(0)
		before := l.patches()
		l.after(20 * time.Minute)
		if got := l.patches() - before; got > 60 {
			t.Errorf("%d writes in 20 minutes", got)
		}
	})
}

func TestPassThatYieldsIsUnfinishedOnlyWhileCallsFail(t *testing.T) {
	for _, attempts := range []int{0, 1} {
		o := observed{memory: memory{failure: failure{attempts: attempts}}}
		if got := yields(o, plan{do: update}); got.Unfinished != (attempts > 0) || got.After == 0 || got.HighPriority {
			t.Errorf("after %d failures the pass yields with %+v", attempts, got)
		}
	}
}

// A write that the API server keeps refusing is reported on the Service, whatever the
// status code of the refusal.
func TestRefusedWritesAreReported(t *testing.T) {
	for name, refusal := range refusals() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, host("a"))
				defer func() { l.stop() }()
				refuses := func(call string) {
					l.change(func() {
						l.refuse = nil
						l.fail = func(now string) error {
							if now == call {
								l.refuse = refusal
							}
							return nil
						}
					})
				}
				l.change(func() { l.refuse = refusal })
				l.create(balanced())
				l.after(25 * time.Minute)
				l.expect("finalizer", nil, list("s SyncLoadBalancerFailed"))
				refuses("ensure s")
				l.after(25 * time.Minute)
				l.expect("address", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer", "s SyncLoadBalancerFailed"))
				refuses("delete s")
				l.after(5 * time.Minute)
				l.update(terminating)
				l.after(25 * time.Minute)
				l.expect("release", list("delete s"), list("s DeletingLoadBalancer", "s DeletedLoadBalancer", "s SyncLoadBalancerFailed"))
				l.change(func() { l.refuse = nil })
				l.after(5 * time.Minute)
				if _, err := l.cluster.CoreV1().Services("ns").Get(t.Context(), "s", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
					t.Errorf("the Service is there (%v) after the refusals", err)
				}
			})
		})
	}
}

// The providers for Azure's service gateway and for kube-vip write the address with
// clients of their own, and return the status that the Service already has.
func TestAddressOfAProviderThatWritesItItselfStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Policy: Policy{Resync: time.Hour}}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.echoes = true })
		l.after(time.Minute)
		writes := func(ip string) {
			l.update(func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}} })
		}
		stays := func(when, ip string) {
			t.Helper()
			for range 12 {
				l.after(5 * time.Minute)
				if got := l.service().Status.LoadBalancer.Ingress; len(got) != 1 || got[0].IP != ip {
					t.Fatalf("%s: the Service shows %v, want %s", when, got, ip)
				}
			}
			if slices.Contains(l.events, "s LoadBalancerStatusContested") {
				t.Errorf("%s: events %v", when, l.events)
			}
			if c := findCondition(l.service(), ConditionServing); c == nil || c.Status != metav1.ConditionTrue {
				t.Errorf("%s: condition %+v", when, c)
			}
		}
		writes("127.64.0.1")
		stays("first address", "127.64.0.1")
		writes("127.64.0.2")
		stays("another address", "127.64.0.2")
		l.stop()
		l.start()
		stays("after a restart", "127.64.0.2")
		writes("127.64.0.3")
		stays("another address after a restart", "127.64.0.3")
		l.update(edited)
		stays("edited", "127.64.0.3")
		l.replaceNode(0)
		stays("another node", "127.64.0.3")
	})
}

// The provider has returned no address, and has written one itself. Then the API server
// clears it, because the type changes and changes back before any pass.
func TestAddressThatIsClearedAfterARefusedWriteComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, host("a"))
		defer func() { l.stop() }()
		l.change(func() {
			l.echoes, l.refuses = true, ConditionServing
			l.ended = func(s *corev1.Service) {
				if s.Name == "s" && len(s.Status.LoadBalancer.Ingress) == 0 {
					l.update(at("127.64.0.1"))
				}
			}
		})
		l.create(balanced())
		l.after(time.Minute)
		l.change(func() { l.takes = time.Minute })
		l.create(balanced(named("other")))
		l.after(time.Second) // Now the only worker is busy.
		l.update(internal, unaddressed)
		l.update(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
		l.change(func() { l.refuses = "" })
		l.after(5 * time.Minute)
		if got := l.service().Status.LoadBalancer.Ingress; len(got) != 1 {
			t.Errorf("address %v, calls %v, want the provider to be asked for it", got, l.calls)
		}
	})
}

// at returns an edit that makes a Service show the address.
func at(ip string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}}
	}
}

// This provider writes the address itself, and uses the address to find the load
// balancer that it has to delete. After an edit, it makes another load balancer and
// writes the new address.
func TestDeletionHasTheNewestAddress(t *testing.T) {
	for name, ensureFails := range map[string]bool{"EnsureFailsAfterwards": true, "TwoAddressesWithinThePause": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, host("a"), balanced())
				defer func() { l.stop() }()
				l.change(func() { l.byAddress, l.echoes = true, true })
				l.after(time.Minute)
				l.update(at("127.64.0.1"))
				l.after(time.Hour)
				if ensureFails {
					l.change(func() {
						l.fail = func(call string) error {
							if strings.HasPrefix(call, "ensure") {
								return errors.New("the health check could not be made")
							}
							return nil
						}
					})
					l.update(annotated)
				} else {
					l.update(at("127.64.0.2"))
					l.after(time.Minute)
				}
				l.change(func() { l.address = "127.64.0.3" })
				l.after(time.Second)
				l.update(at("127.64.0.3"))
				l.after(time.Minute)
				l.update(terminating)
				l.after(time.Hour)
				if len(l.balancers) > 0 {
					t.Errorf("left behind: %v", l.balancers)
				}
			})
		})
	}
}

// A new Service gets an early set, which is made before the nodes have settled. When they
// have settled, the next set is the early one, or the one before it if a Node has come
// back. Each Service must get this set.
func TestServiceWithAnEarlySetFollowsTheNodes(t *testing.T) {
	for name, comesBack := range map[string]bool{"NodeComesBack": true, "NodeStaysAway": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, host("a"), host("b"), balanced(named("old")))
				defer func() { l.stop() }()
				l.after(time.Minute)
				l.change(func() { l.takes = 50 * time.Millisecond })
				l.create(host("c")) // This makes a set at once, so the next one waits for the nodes to settle.
				l.after(500 * time.Millisecond)
				if err := l.cluster.CoreV1().Nodes().Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				l.after(minQuiet - 400*time.Millisecond)
				l.create(balanced())
				l.after(200 * time.Millisecond)
				early, want := list("a", "c"), list("a", "c")
				l.change(func() {
					if got := l.balancers["u1"]; !slices.Equal(got, early) {
						t.Errorf("the new Service has the backends %v, want %v", got, early)
					}
				})
				if comesBack {
					l.create(host("b"))
					want = list("a", "b", "c")
				}
				l.after(time.Hour)
				for uid, got := range l.balancers {
					if !slices.Equal(got, want) {
						t.Errorf("%s has the backends %v, want %v", uid, got, want)
					}
				}
			})
		})
	}
}

// While Ensure fails, an update is carried out, but its reply is lost. Then the set of
// nodes becomes the same as before the update. The load balancer must get this set
// again.
func TestSetIsOfferedAgainAfterALostReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, host("a"), host("b"), balanced())
		defer func() { l.stop() }()
		l.after(time.Minute)
		lost := false
		l.change(func() {
			l.fail = func(call string) error {
				if strings.HasPrefix(call, "update") {
					if lost {
						return nil
					}
					lost = true
					l.balancers["u1"] = list("a")
				}
				return errors.New("no")
			}
		})
		l.update(annotated)
		l.after(time.Minute)
		if err := l.cluster.CoreV1().Nodes().Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(4 * time.Second)
		l.create(host("b"))
		l.after(time.Hour)
		if got := l.balancers["u1"]; !lost || !slices.Equal(got, list("a", "b")) {
			t.Errorf("lost %v, backends %v, want a and b", lost, got)
		}
	})
}

// A cloud that fails in two ways by turns is not more news than one that fails in one.
func TestFailuresThatAlternateCostFewEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kinds, calls := []cloud.Kind{cloud.Unavailable, cloud.TimedOut}, map[string]int{}
		l := begin(t, Config{}, host("a"))
		defer func() { l.stop() }()
		l.change(func() {
			l.takes = 100 * time.Millisecond
			l.fail = func(call string) error {
				calls[call]++
				return &cloud.Error{Kind: kinds[calls[call]%2], Err: errors.New("no")}
			}
		})
		for _, s := range twenty() {
			l.create(s)
		}
		l.after(3 * time.Hour)
		if len(l.events) > 200 || len(l.calls) < 400 {
			t.Errorf("%d events for %d calls in 3 hours, want at most 200", len(l.events), len(l.calls))
		}
	})
}
