package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// lots returns n Services.
func lots(n int) (objects []runtime.Object) {
	for i := range n {
		objects = append(objects, balanced(named(fmt.Sprintf("s-%03d", i))))
	}
	return objects
}

// untilAll waits until all n load balancers have this number of nodes, and returns the
// time that this took.
func (l *life) untilAll(n, nodes int) time.Duration {
	l.t.Helper()
	for began := time.Now(); time.Since(began) < time.Hour; l.after(10 * time.Millisecond) {
		done := 0
		l.change(func() {
			for _, names := range l.balancers {
				if len(names) == nodes {
					done++
				}
			}
		})
		if done == n {
			return time.Since(began)
		}
	}
	l.t.Fatalf("not all %d load balancers have %d nodes after an hour", n, nodes)
	return 0
}

// A Node that joins alone does not wait for other Nodes. Each load balancer is updated
// once. The time until all load balancers have the Node is at most a tenth longer than
// all calls together.
func TestNodeThatJoinsAloneDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, takes = 100, 30 * time.Millisecond
		l := begin(t, Config{Backends: BackendPolicy{SkipUninitialized: true}}, append(lots(n), host("a"))...)
		defer func() { l.stop() }()
		l.after(time.Hour)
		l.change(func() { l.calls, l.takes = nil, takes })
		l.create(host("b"))
		if got, most := l.untilAll(n, 2), n*takes*11/10; got > most {
			t.Errorf("all have the new node after %v, want %v at most", got, most)
		}
		l.after(time.Minute)
		if len(l.calls) != n {
			t.Errorf("%d calls, want one for each load balancer", len(l.calls))
		}
	})
}

// Nodes that join together cause one or two updates of each load balancer, whatever
// the speed of the calls and of the Nodes.
func TestNodesThatJoinTogetherAreTwoUpdatesAtMost(t *testing.T) {
	for _, takes := range []time.Duration{time.Millisecond, 30 * time.Millisecond, time.Second} {
		for _, apart := range []time.Duration{0, 10 * time.Millisecond, 100 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, append(twenty(), host("a"))...)
				defer func() { l.stop() }()
				l.after(time.Hour)
				l.change(func() { l.calls, l.takes = nil, takes })
				for i := range 40 {
					l.create(host(fmt.Sprint("b", i)))
					l.after(apart)
				}
				l.untilAll(20, 41)
				l.after(time.Minute)
				updates := map[string]int{}
				for _, call := range l.calls {
					if updates[call]++; updates[call] > 2 || !strings.HasPrefix(call, "update") {
						t.Errorf("nodes %v apart and calls of %v: %s is made %d times", apart, takes, call, updates[call])
					}
				}
			})
		}
	}
}

// Load balancers are updated even if Nodes keep joining.
func TestNodesThatKeepJoiningDoNotStopUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Hour)
		l.change(func() { l.calls, l.takes = nil, 10*time.Millisecond })
		const each = 400 * time.Millisecond
		for i := range 300 { // for two minutes
			l.create(host(fmt.Sprint("b", i)))
			l.after(each)
			// 13 Nodes join in 5 seconds. One more may have joined during the update.
			if got := len(l.balancers["u1"]); got < i+2-14 {
				t.Fatalf("%d of %d nodes are behind the load balancer, want all but those of the last 5 seconds", got, i+2)
			}
		}
		if got := len(l.calls); got > 2+120/5 {
			t.Errorf("%d updates in two minutes, want one in 5 seconds", got)
		}
	})
}

// Load balancers are created as fast as the calls and the writes of the finalizers allow.
// A Node that joins causes one update of each load balancer. Here, a call takes as long as
// two requests to the simulated cloud, and a write to the API server takes as long as in
// the benchmark.
func TestServicesAreCreatedAtTheSpeedOfTheCalls(t *testing.T) {
	n := 500
	if testing.Short() {
		n = 100
	}
	synctest.Test(t, func(t *testing.T) {
		const takes, writeTakes = 60 * time.Millisecond, 10 * time.Millisecond
		l := begin(t, Config{}, host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.takes, l.patchTakes = takes, writeTakes })
		for _, s := range lots(n) {
			l.create(s)
			synctest.Wait() // The fake API server's watch holds only 100 changes that nobody has read.
		}
		if got, most := l.untilAll(n, 1), time.Duration(n)*(takes+writeTakes)*105/100; got > most {
			t.Errorf("all are created after %v, want %v at most", got, most)
		}
		l.after(time.Minute)
		l.change(func() { l.calls = nil })
		l.create(host("b"))
		if got, most := l.untilAll(n, 2), time.Duration(n)*takes*11/10; got > most {
			t.Errorf("all have the new node after %v, want %v at most", got, most)
		}
		l.after(time.Minute)
		if len(l.calls) != n {
			t.Errorf("%d calls, want one for each load balancer", len(l.calls))
		}
	})
}

// countingLister counts the Nodes that it returns.
type countingLister struct {
	listersv1.NodeLister
	nodes map[string]*corev1.Node
	seen  int
}

func (c *countingLister) Get(name string) (*corev1.Node, error) {
	c.seen++
	return c.nodes[name], nil
}

func (c *countingLister) List(labels.Selector) (all []*corev1.Node, err error) {
	for _, node := range c.nodes {
		all = append(all, node)
	}
	c.seen += len(all)
	return all, nil
}

// All Nodes are read at most once a second, and only after a change that may concern the
// set of Nodes.
func TestSetCostsAListASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		lister := &countingLister{nodes: map[string]*corev1.Node{}}
		b := newBackends(lister, BackendPolicy{SkipUninitialized: true}, clock.RealClock{})
		costs := func(what string, makes func() bool, makesOne bool, looks int) {
			t.Helper()
			lister.seen = 0
			if got := makes(); got != makesOne || lister.seen != looks {
				t.Errorf("%s: another set is made: %v, with %d looks, want %v with %d", what, got, lister.seen, makesOne, looks)
			}
		}
		join := func(i int, edits ...func(*corev1.Node)) {
			node := host(fmt.Sprint("n", i), edits...)
			lister.nodes[node.Name] = node
			b.onChange(node.Name, nil, node)
		}
		for i := range n {
			join(i)
		}
		costs("the first set", b.remake, true, n)
		for _, node := range lister.nodes {
			b.onChange(node.Name, node, node.DeepCopy())
		}
		costs("heartbeats", b.remake, false, 0)
		join(n)
		costs("a new Service at once", b.remakeEarly, false, 0)
		time.Sleep(minQuiet)
		costs("a new Service after a second", b.remakeEarly, true, n+1)
		<-b.changed
		join(n+1, tainted(api.TaintExternalCloudProvider))
		costs("a Node that waits to be initialised", b.remake, false, 0)
		if len(b.changed) > 0 {
			t.Error("a Node that waits to be initialised asks for a new set")
		}
		costs("a call after changes of Nodes", func() bool { return len(b.refreshed().nodes) == 0 }, false, n+1)
		costs("a second call", func() bool { return len(b.refreshed().nodes) == 0 }, false, 0)
	})
}

// cachedServices has the Services of an informer. It has no API server.
type cachedServices map[string]*corev1.Service

func (c cachedServices) Cached(key string) (*corev1.Service, error) { return c[key], nil }

func (cachedServices) Live(context.Context, *corev1.Service) (*corev1.Service, error) {
	return nil, errors.New("a request, want none")
}

func (cachedServices) PatchStatus(context.Context, string, string, kube.ServicePatch) (*corev1.Service, error) {
	return nil, errors.New("a patch, want none")
}

// costs counts the operations for Nodes and Services.
type costs struct {
	looks int // the number of decisions about the owner of a Node
	calls int
}

func (*costs) Service(*corev1.Service, string, string, string) {}

func (c *costs) Ensure(context.Context, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	return nil, errors.New("a call of Ensure, want none")
}

func (c *costs) Update(context.Context, *corev1.Service, []*corev1.Node) error {
	c.calls++
	return nil
}

func (c *costs) Delete(context.Context, *corev1.Service) error {
	return errors.New("a deletion, want none")
}

func (*costs) Find(context.Context, *corev1.Service) (bool, error) {
	return false, errors.New("a question, want none")
}

// A Service costs the same in a small cluster and in a cluster of 20,000 Nodes and 2,000
// Services. A new set queues each Service once.
func TestCostOfAServiceIsFlat(t *testing.T) {
	for _, size := range []struct{ nodes, services int }{{1000, 100}, {20000, 2000}} {
		t.Run(strconv.Itoa(size.nodes), func(t *testing.T) {
			var c costs
			services, lister := cachedServices{}, &countingLister{nodes: map[string]*corev1.Node{}}
			informers := kube.NewInformerFactory(fake.NewClientset(), 0, Policy{}.IsServed)
			controller := New(Deps{
				Services: services, Informer: informers.Core().V1().Services(), Nodes: informers.Core().V1().Nodes(), Balancers: &c, Events: &c,
			}, Config{Backends: BackendPolicy{SkipUninitialized: true, Claim: ownership.Claim{Nodes: func(*corev1.Node) bool { c.looks++; return true }}}})
			controller.backends.lister = lister
			join := func(i int) {
				node := host(fmt.Sprint("n", i))
				lister.nodes[node.Name] = node
				controller.backends.onChange(node.Name, nil, node)
			}
			for i := range size.nodes {
				join(i)
			}
			controller.backends.remake()
			for i := range size.services {
				s := balanced(named(fmt.Sprint("s", i)), of(fmt.Sprint("ns-", i)), finalized, addressed, conditioned)
				services[keyOf(s)] = s
				if err := controller.Informer.GetIndexer().Add(s); err != nil {
					t.Fatal(err)
				}
				controller.store.remember(keyOf(s), known(s, func(m *memory) { m.backends = controller.backends.newest().id }))
			}
			for i := range 100 {
				join(size.nodes + i)
				if !controller.backends.remake() {
					t.Fatal("a Node joins, and the set is the same")
				}
				controller.onNewSet()
			}
			if got := controller.Loop.Waiting(-time.Second); len(got) != size.services {
				t.Errorf("%d Services wait for their update, want all %d, each once", len(got), size.services)
			}
			c.looks, lister.seen = 0, 0
			for i := range 20 { // The cloud is called for only 20 of the Services, because each call copies all Nodes.
				if _, err := controller.Reconcile(t.Context(), fmt.Sprintf("ns-%d/s%d", i, i)); err != nil {
					t.Fatal(err)
				}
			}
			if c.calls != 20 || c.looks != 0 || lister.seen != size.nodes+100 {
				t.Errorf("20 Services: %d calls, %d decisions about Nodes, %d looks, want one call each, none, and a look at each Node", c.calls, c.looks, lister.seen)
			}
		})
	}
}
