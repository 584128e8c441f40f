package route

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

func TestFailedCreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, Config{}, newNode(2))
		defer func() { b.stop() }()
		b.after(3 * time.Second)
		b.expect("the first", []string{"create 10.244.2.0/24 node-2 uid-2"}, nil, nil)
		quota := errors.New("quota of 1 route is used up")
		b.locked(func() {
			b.fail = func(call string) error {
				if strings.HasPrefix(call, "create 10.244.1.0/24") {
					return quota
				}
				return nil
			}
		})
		b.createNode(bare(1))
		b.createNode(bare(3))
		b.after(3 * time.Minute)
		failed := []string{"node-1 FailedToCreateRoute quota of 1 route is used up"}
		var creations int
		b.locked(func() {
			b.calls = slices.DeleteFunc(b.calls, func(c string) bool {
				isIt := strings.HasPrefix(c, "create 10.244.1.0/24")
				if isIt {
					creations++
				}
				return isIt
			})
		})
		if creations < 6 || creations > 12 {
			t.Errorf("%d attempts in three minutes", creations)
		}
		b.expect("one fails", []string{"create 10.244.3.0/24 node-3 uid-3"}, failed, []string{"node-1 True", "node-3 False"})
		b.locked(func() { b.fail = func(string) error { return nil } })
		b.after(2 * time.Minute)
		b.expect("it heals", []string{"create 10.244.1.0/24 node-1 uid-1"}, nil, []string{"node-1 False"})
	})
}

func TestLostReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := map[string]bool{}
		b := prepare(t, Config{}, bare(1))
		b.locked(func() {
			b.lose = func(call string) bool {
				was := lost[call]
				lost[call] = true
				return !was && call != "list"
			}
		})
		b.start()
		defer func() { b.stop() }()
		b.after(time.Minute)
		// The listing after the failure shows the route.
		b.expect("creation", []string{"create 10.244.1.0/24 node-1 uid-1"}, []string{"node-1 FailedToCreateRoute the reply was lost"}, []string{"node-1 False", "node-1 True"})
		b.deleteNode("node-1")
		b.after(time.Minute)
		b.expect("removal", []string{"delete r1"}, nil, nil)
		if got := b.routes(); got != nil {
			t.Errorf("routes %v are left", got)
		}
	})
}

// A failure that is over is forgotten. The next one of the same kind is reported again.
func TestFailureAfterALostReplyIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		b := prepare(t, Config{}, bare(1))
		b.locked(func() {
			b.lose = func(call string) bool { return strings.HasPrefix(call, "create") && calls == 1 }
			b.fail = func(call string) error {
				if !strings.HasPrefix(call, "create") {
					return nil
				}
				calls++
				if calls == 2 {
					return errors.New("the reply was lost")
				}
				return nil
			}
		})
		b.start()
		defer func() { b.stop() }()
		b.after(time.Minute)
		b.expect("the listing shows the route", []string{"create 10.244.1.0/24 node-1 uid-1"}, []string{"node-1 FailedToCreateRoute the reply was lost"}, []string{"node-1 False", "node-1 True"})
		b.locked(func() { b.table[0].gone = time.Now() })
		b.after(2 * time.Minute)
		b.expect("it was removed by hand", []string{"create 10.244.1.0/24 node-1 uid-1", "create 10.244.1.0/24 node-1 uid-1"}, []string{"node-1 FailedToCreateRoute the reply was lost"}, nil)
	})
}

// The event about the condition of another writer names the writer. It is recorded once.
func TestForeignConditionIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := bare(1)
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue, Reason: "CalicoIsDown", LastTransitionTime: metav1.Now()}}
		n.ManagedFields = []metav1.ManagedFieldsEntry{
			{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: fieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{}}}}`)},
			{Manager: "calico-node", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: fieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"NetworkUnavailable\"}":{}}}}`)},
		}
		b := prepare(t, Config{Limits: Limits{AdoptAfter: 20 * time.Minute}}, n)
		b.start()
		defer func() { b.stop() }()
		b.after(4 * time.Minute)
		b.expect("while a plugin may start", []string{"create 10.244.1.0/24 node-1 uid-1"}, nil, nil)
		b.after(10 * time.Minute)
		b.locked(func() {
			if len(b.events) != 1 || !strings.Contains(b.events[0], "NetworkConditionForeign") || !strings.Contains(b.events[0], "written by calico-node, with the reason CalicoIsDown") {
				t.Errorf("events %q, want one that names the writer and the reason", b.events)
			}
			b.events = nil
		})
		b.after(10 * time.Minute)
		b.expect("when it may be adopted", nil, nil, []string{"node-1 False"})
	})
}

func fieldsV1(text string) *metav1.FieldsV1 { return metav1.NewFieldsV1(text) }

func TestLateListings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, bare(1))
		b.locked(func() { b.lag = 20 * time.Second })
		b.start()
		defer func() { b.stop() }()
		b.after(5 * time.Second)
		b.createNode(bare(2))
		b.after(time.Minute)
		b.expect("creation", []string{"create 10.244.1.0/24 node-1 uid-1", "create 10.244.2.0/24 node-2 uid-2"}, nil, []string{"node-1 False", "node-2 False"})
		b.deleteNode("node-1")
		reused := bare(3)
		reused.Spec.PodCIDRs = []string{"10.244.1.0/24"}
		b.createNode(reused)
		b.after(10 * time.Minute)
		b.expect("CIDR of another node", []string{"create 10.244.1.0/24 node-3 uid-3", "delete r1"}, nil, []string{"node-3 False"})
		if diff := cmp.Diff([]string{"10.244.1.0/24 node-3", "10.244.2.0/24 node-2"}, b.routes()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOutageDuringARollout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, Config{}, newNode(1))
		defer func() { b.stop() }()
		b.after(5 * time.Second)
		b.createNode(newNode(2))
		b.after(5 * time.Second)
		b.locked(func() {
			b.calls, b.writes = nil, nil
			b.fail = func(string) error { return errors.New("down") }
		})
		b.deleteNode("node-1")
		b.createNode(bare(3))
		b.after(10 * time.Minute)
		b.locked(func() {
			if n := len(b.calls); n > 30 {
				t.Errorf("%d calls in ten minutes of an outage", n)
			}
			b.calls = nil
		})
		b.expect("the outage", nil, []string{"node-3 FailedToCreateRoute down"}, []string{"node-3 True"})
		b.locked(func() { b.fail = func(string) error { return nil } })
		b.after(2 * time.Minute)
		b.expect("its end", []string{"create 10.244.3.0/24 node-3 uid-3", "delete r1"}, nil, []string{"node-3 False"})
	})
}

func TestNewLeaderDuringAnOutageWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, newNode(1), newNode(2))
		b.locked(func() { b.fail = func(string) error { return errors.New("down") } })
		b.start()
		defer func() { b.stop() }()
		b.after(10 * time.Minute)
		b.locked(func() { b.calls = nil })
		b.expect("the outage", nil, nil, nil)
	})
}

func TestHangingCallDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, bare(1))
		defer func() { b.stop() }()
		listed := false
		b.locked(func() {
			b.takes = time.Second
			b.longer = func(call string) time.Duration {
				first := call == "list" && !listed
				listed = listed || first
				switch {
				case first:
					return time.Hour
				case strings.HasPrefix(call, "create 10.244.2.0/24"):
					return 2 * time.Hour
				}
				return 0
			}
		})
		b.start()
		b.after(time.Hour + time.Minute)
		b.createNode(bare(2))
		b.after(2 * time.Second)
		b.createNode(bare(3))
		b.after(5 * time.Minute)
		if diff := cmp.Diff([]string{"10.244.1.0/24 node-1", "10.244.3.0/24 node-3"}, b.routes()); diff != "" {
			t.Error(diff)
		}
		b.locked(func() { b.calls = nil })
		b.expect("a creation hangs", nil, nil, []string{"node-1 False", "node-2 True", "node-3 False"})
		b.after(2 * time.Hour)
		b.locked(func() { b.calls = nil })
		b.expect("it returns", nil, nil, []string{"node-2 False"})
	})
}

// answers is a cloud. Each of its listings takes half a minute, and returns the next of
// the given errors.
type answers struct {
	routes

	next []error
}

// List implements routes.
func (a *answers) List(context.Context) ([]cloud.Route, error) {
	time.Sleep(30 * time.Second)
	err := a.next[0]
	a.next = a.next[1:]
	return nil, err
}

// If a caller stops waiting for a call, the gateway gives the answer of that call to
// the next caller. So the answer may show the routes as they were when the first call
// began.
func TestLateAnswerIsAsOldAsItsCall(t *testing.T) {
	failed := func(kind cloud.Kind) error {
		return &cloud.Error{Call: "ListRoutes", Kind: kind, Err: errors.New("no")}
	}
	late := func(kind cloud.Kind) error {
		return &cloud.Error{Call: "ListRoutes", Kind: kind, Err: errors.New("no answer"), UnderWay: true}
	}
	for _, tt := range []struct {
		name    string
		answers []error
		want    time.Duration // age of the listing
	}{
		{"AtOnce", []error{nil}, 30 * time.Second},
		{"Late", []error{late(cloud.Slow), late(cloud.Throttled), nil}, 90 * time.Second},
		{"HeldInAnOutage", []error{late(cloud.Unavailable), late(cloud.Slow), nil}, 90 * time.Second},
		{"AfterAFailure", []error{late(cloud.Slow), failed(cloud.Unavailable), nil}, 30 * time.Second},
		{"Throttled", []error{failed(cloud.Throttled), nil}, 30 * time.Second},
		{"AfterALateOne", []error{late(cloud.Slow), nil, nil}, 30 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := idle(t)
				defer func() {
					over, cancel := context.WithCancel(t.Context())
					cancel()
					_ = c.Run(over) // ends the queues that New has started
				}()
				c.deps.Routes = &answers{next: tt.answers}
				for range tt.answers {
					c.list(t.Context(), "test")
				}
				if got := time.Since(c.memory.listing.at); got != tt.want || !c.memory.listing.answered.Equal(time.Now()) {
					t.Errorf("the listing is %v old and was answered at %v, want %v and now", got, c.memory.listing.answered, tt.want)
				}
			})
		})
	}
}

// A write that the API server refuses is retried after growing pauses, although a pass
// plans it each time that some Node changes.
func TestRefusedPatchKeepsItsPauseWhileNodesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, bare(1))
		b.locked(func() { b.refuse = errors.New("no answer") })
		b.start()
		defer func() { b.stop() }()
		for i := range 60 {
			b.createNode(newNode(2 + i))
			b.after(time.Second)
		}
		b.locked(func() {
			if n := len(b.writes); n < 5 || n > 10 {
				t.Errorf("%d writes in a minute, want about 7, with growing pauses", n)
			}
		})
	})
}

// A condition that could not be written is dropped when it is no longer right.
func TestRefusedPatchIsDroppedWhenItIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, newNode(1)) // The Node shows that it is reachable.
		b.locked(func() {
			b.refuse = errors.New("unavailable")
			b.fail = func(call string) error {
				if strings.HasPrefix(call, "create") {
					return errors.New("no")
				}
				return nil
			}
		})
		b.start()
		defer func() { b.stop() }()
		b.after(5 * time.Minute)
		b.locked(func() { b.fail = func(string) error { return nil } })
		for healed := false; !healed; healed = len(b.routes()) == 1 {
			b.after(time.Second)
		}
		b.after(2 * time.Second)
		b.locked(func() { b.refuse, b.writes, b.calls, b.events = nil, nil, nil, nil })
		b.after(10 * time.Minute)
		b.expect("once it is reachable again", nil, nil, nil)
	})
}

func TestStoppedInstanceCostsFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, Config{}, newNode(1), newNode(2))
		defer func() { b.stop() }()
		b.after(5 * time.Second)
		b.expect("creation", []string{"create 10.244.1.0/24 node-1 uid-1", "create 10.244.2.0/24 node-2 uid-2"}, nil, nil)
		b.locked(func() {
			b.stopped = "node-1"
			for _, e := range b.table {
				if e.Node == "node-1" {
					e.Blackhole, e.stray = true, time.Now()
				}
			}
		})
		b.after(time.Hour)
		b.locked(func() {
			changes := slices.DeleteFunc(slices.Clone(b.calls), func(c string) bool { return c == "list" })
			if len(changes) > 50 {
				t.Errorf("%d changes in an hour for one stopped instance", len(changes))
			}
			if diff := cmp.Diff([]string{"node-1 True"}, b.writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			b.calls, b.writes, b.stopped = nil, nil, ""
			for _, e := range b.table {
				e.Blackhole, e.stray = false, time.Time{}
			}
		})
		b.after(7 * time.Minute)
		b.locked(func() { b.calls = nil })
		b.expect("the instance runs again", nil, nil, []string{"node-1 False"})
	})
}

// While the API server is slow, passes continue, and each condition is written once.
func TestSlowPatchIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, bare(1), bare(2))
		b.writing = 10 * time.Second
		b.fail = func(call string) error {
			if strings.HasPrefix(call, "create 10.244.1.0/24") {
				return errors.New("no")
			}
			return nil
		}
		b.start()
		defer func() { b.stop() }()
		b.after(2 * time.Minute)
		b.locked(func() { b.calls, b.events = nil, nil })
		b.expect("one condition each", nil, nil, []string{"node-1 True", "node-2 False"})
	})
}

// If the API server keeps refusing the write of a condition, an event on the Node
// reports it once. A later refusal is reported only if a write has succeeded in
// between.
func TestRefusedPatchIsReportedAndRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, bare(1))
		b.locked(func() { b.refuse = errors.New("failed calling webhook: no answer") })
		b.start()
		defer func() { b.stop() }()
		for try := range 2 {
			b.after(10 * time.Minute)
			b.locked(func() { b.refuse, b.writes, b.calls = nil, nil, nil })
			b.after(10 * time.Minute)
			b.expect("once it may", nil, []string{"node-1 NetworkConditionFailed no answer)"}, []string{"node-1 False"})
			b.locked(func() {
				b.refuse = apierrors.NewForbidden(corev1.Resource("nodes"), "node-1", errors.New("a webhook: no answer"))
			})
			n := bare(1)
			n.ResourceVersion = strconv.Itoa(100 + try)
			if _, err := b.cluster.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
