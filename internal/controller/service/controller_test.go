package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// life is a cluster, a cloud and a controller between them, in a bubble with a
// time of its own.
type life struct {
	t       *testing.T
	cluster *fake.Clientset
	config  Config
	stop    func()

	controller *Controller

	mu        sync.Mutex
	balancers map[types.UID][]string // the nodes of each load balancer; guarded by mu
	busy      map[string]bool        // guarded by mu
	calls     []string               // guarded by mu
	events    []string               // guarded by mu
	takes     time.Duration          // guarded by mu
	address   string                 // guarded by mu
	handed    []*corev1.Node         // of the last call; guarded by mu
	refuse    error                  // of writes to the API server; guarded by mu
	fail      func(call string) error
	version   int // of the last write; guarded by mu
}

func begin(t *testing.T, cfg Config, objects ...runtime.Object) *life {
	t.Helper()
	l := &life{
		t: t, config: cfg, cluster: fake.NewClientset(objects...), balancers: map[types.UID][]string{}, busy: map[string]bool{},
		takes: time.Second, address: "127.64.0.1", fail: func(string) error { return nil }, version: 1000,
	}
	l.cluster.PrependReactor("patch", "services", l.onPatch)
	l.start()
	return l
}

// onPatch keeps versions, as an API server does, and lets a Service go that is
// being deleted and has no finalizer any more.
func (l *life) onPatch(action clienttesting.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "status" {
		l.t.Errorf("a patch of %s/%q, want all to go to the status", action.GetResource().Resource, action.GetSubresource())
	}
	l.mu.Lock()
	refusal := l.refuse
	l.mu.Unlock()
	if refusal != nil {
		return true, nil, refusal
	}
	tracker, resource := l.cluster.Tracker(), action.GetResource()
	_, patched, err := clienttesting.ObjectReaction(tracker)(action)
	if err != nil {
		return true, nil, err
	}
	service := patched.(*corev1.Service).DeepCopy()
	l.mu.Lock()
	l.version++
	service.ResourceVersion = strconv.Itoa(l.version)
	l.mu.Unlock()
	if service.DeletionTimestamp != nil && len(service.Finalizers) == 0 {
		return true, service, tracker.Delete(resource, service.Namespace, service.Name)
	}
	return true, service, tracker.Update(resource, service, service.Namespace)
}

func (l *life) start() {
	ctx, cancel := context.WithCancel(l.t.Context())
	informers := kube.NewInformerFactory(l.cluster, 0)
	informer := informers.Core().V1().Services()
	c := New(Deps{
		Services:  kube.NewServices(ctx, l.cluster, informer),
		Informer:  informer,
		Nodes:     informers.Core().V1().Nodes(),
		Balancers: l,
		Events:    l,
	}, l.config)
	l.controller = c
	informers.StartWithContext(ctx)
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	l.stop = func() {
		cancel()
		if err := <-done; err != nil {
			l.t.Errorf("Run: %v", err)
		}
		informers.Shutdown()
	}
}

// Service records events.
func (l *life) Service(service *corev1.Service, _, reason, _ string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, service.Name+" "+reason)
}

// call is one call to the cloud: it never overlaps another about the Service.
func (l *life) call(ctx context.Context, what string, service *corev1.Service, change func()) error {
	l.mu.Lock()
	key, call := service.Namespace+"/"+service.Name, what+" "+service.Name
	l.calls = append(l.calls, call)
	if l.busy[key] {
		l.t.Errorf("%s overlaps another call", call)
	}
	l.busy[key] = true
	takes, err := l.takes, l.fail(call)
	l.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, key)
	if err == nil {
		change()
	}
	return err
}

// Ensure is the cloud.
func (l *life) Ensure(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	stored, err := l.cluster.CoreV1().Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
	if err == nil && !hasFinalizer(stored) {
		l.t.Errorf("S2: the cloud is called for %s without a finalizer", service.Name)
	}
	l.change(func() { l.handed = nodes })
	err = l.call(ctx, "ensure", service, func() { l.balancers[service.UID] = nodeSet{nodes: nodes}.names() })
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: l.address}}}, nil
}

// Update is the cloud.
func (l *life) Update(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) error {
	return l.call(ctx, "update", service, func() { l.balancers[service.UID] = nodeSet{nodes: nodes}.names() })
}

// Delete is the cloud.
func (l *life) Delete(ctx context.Context, service *corev1.Service) error {
	return l.call(ctx, "delete", service, func() { delete(l.balancers, service.UID) })
}

func (l *life) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func (*life) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (l *life) service() *corev1.Service {
	l.t.Helper()
	service, err := l.cluster.CoreV1().Services("ns").Get(l.t.Context(), "s", metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return service
}

func (l *life) update(edits ...func(*corev1.Service)) {
	l.t.Helper()
	service := l.service()
	for _, edit := range edits {
		edit(service)
	}
	l.change(func() { l.version++; service.ResourceVersion = strconv.Itoa(l.version) })
	if _, err := l.cluster.CoreV1().Services("ns").Update(l.t.Context(), service, metav1.UpdateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

// expect compares what has happened since the last time.
func (l *life) expect(what string, calls, events []string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.calls, calls) {
		l.t.Errorf("%s: calls %v, want %v", what, l.calls, calls)
	}
	if !slices.Equal(l.events, events) {
		l.t.Errorf("%s: events %v, want %v", what, l.events, events)
	}
	l.calls, l.events = nil, nil
}

func (l *life) patches() int {
	n := 0
	for _, action := range l.cluster.Actions() {
		if action.GetVerb() == "patch" {
			n++
		}
	}
	return n
}

func host(name string, edits ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: corev1.NodeSpec{ProviderID: "p://" + name}}
	for _, edit := range edits {
		edit(node)
	}
	return node
}

func named(name string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Name, s.UID = name, types.UID("u-"+name) }
}

// twenty are the Services old-00 to old-19.
func twenty() (objects []runtime.Object) {
	for n := range 20 {
		objects = append(objects, balanced(named(fmt.Sprintf("old-%02d", n))))
	}
	return objects
}

// create adds the Service or Node to the cluster.
func (l *life) create(object runtime.Object) {
	l.t.Helper()
	if err := l.cluster.Tracker().Add(object); err != nil {
		l.t.Fatal(err)
	}
}

func list(items ...string) []string { return items }

func TestLifeOfAService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"), host("b"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.expect("new", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
		s := l.service()
		if len(s.Status.LoadBalancer.Ingress) != 1 || findCondition(s, ConditionServing).Status != metav1.ConditionTrue || findCondition(s, ConditionProvisioning).Status != metav1.ConditionFalse {
			t.Errorf("status %+v", s.Status)
		}
		if got := l.patches(); got != 2 {
			t.Errorf("%d patches for a new Service, want 2", got)
		}
		l.update(edited)
		l.after(time.Minute)
		l.expect("changed", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
		l.update(func(s *corev1.Service) { s.Labels = map[string]string{"a": "b"} })
		l.after(time.Hour)
		l.expect("labelled", nil, nil)
		l.update(internal)
		l.after(time.Minute)
		l.expect("of another type", list("delete s"), list("s DeletingLoadBalancer", "s DeletedLoadBalancer"))
		s = l.service()
		if len(s.Finalizers)+len(s.Status.LoadBalancer.Ingress)+len(s.Status.Conditions) > 0 || len(l.balancers) > 0 {
			t.Errorf("left over: %v, %+v, %v", s.Finalizers, s.Status, l.balancers)
		}
	})
}

func TestNodesThatJoinTogetherAreOneUpdateForEachLoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Backends: BackendPolicy{SkipUninitialized: true}}, balanced(named("s1")), balanced(named("s2")), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.calls, l.events = nil, nil })
		for n := range 20 {
			node := host(fmt.Sprint("n", n), func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider}} })
			if _, err := l.cluster.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			l.after(100 * time.Millisecond)
			node.Spec.Taints, node.ResourceVersion = nil, strconv.Itoa(n)
			if _, err := l.cluster.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		l.after(time.Minute)
		slices.Sort(l.calls)
		slices.Sort(l.events)
		l.expect("twenty nodes", list("update s1", "update s2"), list("s1 UpdatedLoadBalancer", "s2 UpdatedLoadBalancer"))
		if got := len(l.balancers["u-s1"]); got != 21 {
			t.Errorf("%d backends, want 21", got)
		}
	})
}

func TestNewestNodeSetWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, host("a"), host("b"))
		defer func() { l.stop() }()
		l.change(func() { l.takes = 20 * time.Second })
		l.create(balanced())
		l.after(10 * time.Second)
		if err := l.cluster.CoreV1().Nodes().Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(2 * time.Minute)
		if got := l.balancers["u1"]; !slices.Equal(got, list("a")) {
			t.Errorf("backends %v, want the last set", got)
		}
	})
}

func TestNewServicesGoBeforeUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, append(twenty(), host("a"))...)
		defer func() { l.stop() }()
		l.after(time.Hour)
		l.change(func() { l.calls, l.takes = nil, 10*time.Second })
		l.create(host("b"))
		l.after(15 * time.Second)
		l.create(balanced(named("new")))
		l.after(time.Hour)
		if at := slices.Index(l.calls, "ensure new"); at < 0 || at > 3 {
			t.Errorf("calls %v, want the new Service before the updates that wait", l.calls)
		}
		if !slices.ContainsFunc(l.events, func(e string) bool { return strings.HasSuffix(e, " LoadBalancerQueued") }) {
			t.Errorf("events %v, want who waits long to say so", l.events)
		}
	})
}

func TestNobodyKeepsAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.calls, l.takes = nil, 5*time.Minute })
		for n := range 15 { // each during the update for the one before
			l.create(host(fmt.Sprint("n", n)))
			if n == 5 {
				l.create(balanced(named("new")))
			}
			l.after(3 * time.Minute)
			if err := l.controller.Stuck(15 * time.Minute); err != nil {
				t.Error(err)
			}
		}
		l.after(time.Hour)
		if at := slices.Index(l.calls, "ensure new"); at < 0 || at > 5 {
			t.Errorf("calls %v, want the new Service to have its turn", l.calls)
		}
		if got := len(l.balancers["u1"]); got != 16 {
			t.Errorf("%d backends, want 16", got)
		}
	})
}

func TestNewServiceThatIsTriedAgainGoesBeforeUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, append(twenty(), host("a"))...)
		defer func() { l.stop() }()
		l.after(time.Hour)
		again := &cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.Pending, RetryAfter: 15 * time.Second, Err: errors.New("pending")}
		l.change(func() {
			l.calls, l.takes = nil, 10*time.Second
			l.fail = func(call string) error {
				if call == "ensure new" && len(l.calls) < 8 {
					return again
				}
				return nil
			}
		})
		l.create(host("b"))
		l.after(15 * time.Second)
		l.create(balanced(named("new")))
		l.after(3 * time.Minute)
		if s, err := l.cluster.CoreV1().Services("ns").Get(t.Context(), "new", metav1.GetOptions{}); err != nil || len(s.Status.LoadBalancer.Ingress) == 0 {
			t.Errorf("calls %v, want the new Service to be ready (%v) before the updates that wait", l.calls, err)
		}
	})
}

func TestRestartWithoutNodesIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced())
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.expect("new", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer", "s UnAvailableLoadBalancer"))
		l.stop()
		l.start()
		l.after(time.Hour)
		l.expect("restarted", list("ensure s"), nil)
	})
}

func TestRestartIsQuietForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, append(twenty(), host("a"))...)
		defer func() { l.stop() }()
		l.after(time.Hour)
		l.stop()
		l.change(func() { l.calls, l.events, l.takes = nil, nil, 20*time.Second })
		l.start()
		l.after(time.Hour)
		if len(l.calls) != 20 || len(l.events) > 0 {
			t.Errorf("%d calls and events %v, want each Service to be looked at without a word", len(l.calls), l.events)
		}
	})
}

func TestNodesAreHandedOnAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"), host("b"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		before := l.handed
		moved := host("b", func(n *corev1.Node) {
			n.ResourceVersion, n.Status.Addresses = "1", []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.2"}}
		})
		if _, err := l.cluster.CoreV1().Nodes().Update(t.Context(), moved, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(time.Minute)
		l.change(func() { l.calls, l.events = nil, nil })
		l.expect("another address of a node", nil, nil)
		l.update(edited)
		l.after(time.Minute)
		if len(l.handed) != 2 || len(l.handed[1].Status.Addresses) != 1 {
			t.Errorf("nodes %+v, want them as they are when the call is made", l.handed)
		}
		if l.handed[0] != before[0] || len(before[1].Status.Addresses) != 0 {
			t.Error("a node that has not changed was copied again, or one that an earlier call has was changed")
		}
	})
}

func TestRefusedRepairIsRepeated(t *testing.T) {
	for name, tamper := range map[string]func(*corev1.Service){
		"Finalizer": func(s *corev1.Service) { s.Finalizers = nil },
		"Address":   func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, balanced(), host("a"))
				defer func() { l.stop() }()
				l.after(time.Minute)
				l.change(func() { l.events, l.calls, l.refuse = nil, nil, errors.New("the API server is busy") })
				l.update(tamper)
				l.after(10 * time.Second)
				l.change(func() { l.refuse = nil })
				l.after(time.Minute)
				if s := l.service(); !hasFinalizer(s) || len(s.Status.LoadBalancer.Ingress) == 0 {
					t.Errorf("finalizers %v, status %+v", s.Finalizers, s.Status)
				}
				l.expect("put back", nil, list("s LoadBalancerStatusContested"))
			})
		})
	}
}

func TestConditionThatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() {
			l.refuse = errors.New("the API server is busy")
			l.fail = func(string) error { return errors.New("no") }
		})
		l.update(edited)
		l.after(10 * time.Second)
		l.change(func() { l.refuse = nil })
		l.after(30 * time.Second)
		if c := findCondition(l.service(), ConditionProvisioning); c.Status != metav1.ConditionTrue {
			t.Errorf("condition %+v", c)
		}
	})
}

func TestAddressIsNotFoughtForAfterARestartEither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.stop()
		l.start()
		l.after(time.Minute)
		patches := l.patches()
		for range 3 {
			l.update(func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = nil })
			l.after(time.Minute)
		}
		if got := l.patches() - patches; got != 1 {
			t.Errorf("put back %d times in three minutes, want once", got)
		}
	})
}

func TestRefusedWriteIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, host("a"))
		defer func() { l.stop() }()
		l.change(func() {
			l.refuse = apierrors.NewForbidden(corev1.Resource("services"), "s", errors.New("a webhook says no"))
		})
		l.create(balanced())
		l.after(10 * time.Minute)
		l.expect("refused", nil, list("s SyncLoadBalancerFailed"))
		l.change(func() { l.refuse = nil })
		l.after(10 * time.Minute)
		l.expect("accepted", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
	})
}

func TestWhoTakesTheFinalizerAwayIsNotFoughtWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.fail = func(string) error { return errors.New("no") } })
		for range 60 {
			l.after(10 * time.Second)
			l.update(func(s *corev1.Service) { s.Finalizers = nil })
		}
		if got := l.patches(); got > 10 {
			t.Errorf("%d patches in ten minutes", got)
		}
		l.change(func() { l.fail = func(string) error { return nil } })
		l.after(10 * time.Minute)
		if s := l.service(); !hasFinalizer(s) || len(s.Status.LoadBalancer.Ingress) == 0 {
			t.Errorf("finalizers %v, status %+v", s.Finalizers, s.Status)
		}
	})
}

func TestWhoRewritesTheConditionsIsNotFoughtWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		for range 60 {
			l.update(func(s *corev1.Service) { s.Status.Conditions = nil })
			l.after(10 * time.Second)
		}
		if got := l.patches(); got > 10 {
			t.Errorf("%d patches in ten minutes", got)
		}
		l.after(10 * time.Minute)
		if s := l.service(); len(ownConditions(s)) != 2 {
			t.Errorf("status %+v", s.Status)
		}
	})
}

func TestRestartIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.stop()
		patches := l.patches()
		l.change(func() { l.calls, l.events = nil, nil })
		l.start()
		l.after(time.Hour)
		l.expect("restarted", list("ensure s"), nil)
		if got := l.patches(); got != patches {
			t.Errorf("%d patches after a restart, want none", got-patches)
		}
	})
}

func TestFailuresAreNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.fail = func(string) error { return errors.New("no") } })
		for range 60 { // news of the Service do not shorten the delay
			l.after(time.Minute)
			l.update(func(s *corev1.Service) { s.Labels = map[string]string{"now": time.Now().Format("150405")} })
		}
		if got := len(l.calls); got < 10 || got > 20 {
			t.Errorf("%d calls in an hour, want about one in five minutes", got)
		}
		if got := slices.Compact(slices.Clone(l.events)); len(got) > 3 || !slices.Contains(got, "s SyncLoadBalancerFailed") {
			t.Errorf("events %v", l.events)
		}
		if c := findCondition(l.service(), ConditionProvisioning); c == nil || c.Reason != "CloudFailed" || !strings.Contains(c.Message, "no") {
			t.Errorf("condition %+v", c)
		}
		l.change(func() { l.fail = func(string) error { return nil } })
		l.after(6 * time.Minute)
		if c := findCondition(l.service(), ConditionProvisioning); c.Status != metav1.ConditionFalse {
			t.Errorf("condition %+v after the recovery", c)
		}
	})
}

func TestProviderMayAskToBeCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		again := &cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.Pending, RetryAfter: 3 * time.Second, Err: errors.New("pending")}
		l.change(func() { l.fail = func(string) error { return again } })
		l.after(time.Minute)
		if got := len(l.calls); got < 14 || got > 16 {
			t.Errorf("%d calls in a minute, want one in three seconds and one of the call", got)
		}
	})
}

func TestImplementedElsewhereIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() {
			l.fail = func(string) error {
				return &cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.Elsewhere, Err: cloudprovider.ImplementedElsewhere}
			}
		})
		l.after(time.Hour)
		l.expect("elsewhere", list("ensure s"), list("s EnsuringLoadBalancer"))
		if s := l.service(); len(s.Status.Conditions) > 0 || len(s.Status.LoadBalancer.Ingress) > 0 {
			t.Errorf("status %+v, want it to be left to somebody else", s.Status)
		}
	})
}

func TestWhereSomebodyElseProvidesNoConditionIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() {
			l.fail = func(call string) error {
				if call == "ensure flaky" {
					return errors.New("no")
				}
				return &cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.Elsewhere, Err: cloudprovider.ImplementedElsewhere}
			}
		})
		l.after(time.Minute)
		for _, name := range []string{"flaky", "new"} { // a failure of one says nothing of the next
			l.create(balanced(named(name)))
			l.after(2 * time.Second)
		}
		patches := 0
		for _, action := range l.cluster.Actions() {
			if patch, ok := action.(clienttesting.PatchAction); ok && patch.GetName() == "new" {
				patches++
			}
		}
		if patches != 1 {
			t.Errorf("%d patches for a new Service, want that of the finalizer", patches)
		}
	})
}

func TestSlowCallIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.takes = time.Minute })
		l.after(40 * time.Second)
		if c := findCondition(l.service(), ConditionProvisioning); c == nil || c.Status != metav1.ConditionTrue {
			t.Errorf("condition %+v while the call is under way", c)
		}
		l.after(time.Minute)
		if c := findCondition(l.service(), ConditionProvisioning); c == nil || c.Status != metav1.ConditionFalse {
			t.Errorf("condition %+v afterwards", c)
		}
	})
}

func TestSlowUpdateIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.takes = time.Minute })
		l.create(host("b"))
		l.after(20 * time.Second)
		if c := findCondition(l.service(), ConditionProvisioning); c.Status != metav1.ConditionFalse {
			t.Errorf("condition %+v at once, want a quick update to write nothing", c)
		}
		l.after(20 * time.Second)
		if c := findCondition(l.service(), ConditionProvisioning); c.Status != metav1.ConditionTrue || c.Reason != "InProgress" {
			t.Errorf("condition %+v after more than half a minute", c)
		}
		l.after(time.Minute)
		if c := findCondition(l.service(), ConditionProvisioning); c.Status != metav1.ConditionFalse {
			t.Errorf("condition %+v afterwards", c)
		}
	})
}

func TestFailedUpdateIsEnsured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() {
			l.calls, l.events = nil, nil
			l.fail = func(call string) error {
				if call == "update s" {
					return errors.New("no")
				}
				return nil
			}
		})
		if err := l.cluster.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(time.Minute)
		l.expect("failed", list("update s", "ensure s"), list("s UpdateLoadBalancerFailed", "s EnsuredLoadBalancer", "s UnAvailableLoadBalancer"))
	})
}

func TestAddressThatTheProviderChangesIsNoContest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Policy: Policy{Resync: time.Hour}}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.address, l.events = "127.64.0.2", nil })
		l.after(2 * time.Hour)
		l.change(func() { l.calls = nil })
		l.expect("another address", nil, nil)
		if got := l.service().Status.LoadBalancer.Ingress[0].IP; got != "127.64.0.2" {
			t.Errorf("address %s", got)
		}
	})
}

func TestServiceThatIsRecreatedLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		if err := l.cluster.CoreV1().Services("ns").Delete(t.Context(), "s", metav1.DeleteOptions{}); err != nil { // by force: the finalizer is ignored
			t.Fatal(err)
		}
		l.create(balanced(replaced))
		l.after(time.Minute)
		if len(l.balancers) != 1 || l.balancers["u2"] == nil {
			t.Errorf("load balancers %v, want that of the new Service alone", l.balancers)
		}
	})
}

func TestServiceOfAnotherClassIsLeftAloneWhenItBecomesInternal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(finalized, class("theirs")), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.update(internal, unclassed)
		l.after(time.Hour)
		l.expect("internal", nil, nil)
		if s := l.service(); !hasFinalizer(s) || l.patches() > 0 {
			t.Errorf("finalizers %v after %d patches, want those of the other controller", s.Finalizers, l.patches())
		}
		l.update(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
		l.after(time.Minute)
		l.expect("ours", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
		l.update(internal)
		l.after(time.Minute)
		if s := l.service(); hasFinalizer(s) || len(l.balancers) > 0 {
			t.Errorf("left over: %v, %v", s.Finalizers, l.balancers)
		}
	})
}

func TestServiceThatIsGivenToAnotherClassLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.expect("ours", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
		l.update(class("theirs"), func(s *corev1.Service) { s.Status.LoadBalancer.Ingress[0].IP = "198.51.100.7" })
		l.after(time.Hour)
		l.expect("given away", list("delete s"), list("s DeletedLoadBalancer"))
		if s := l.service(); hasFinalizer(s) || len(s.Status.Conditions) > 0 || len(l.balancers) > 0 {
			t.Errorf("left over: %v, %+v, %v", s.Finalizers, s.Status.Conditions, l.balancers)
		}
		if s := l.service(); len(s.Status.LoadBalancer.Ingress) != 1 {
			t.Errorf("status %+v, want the other controller's address", s.Status)
		}
	})
}

// TestEachCrashHeals stops the controller at each moment of a Service's life.
func TestEachCrashHeals(t *testing.T) {
	for moment := range 40 {
		synctest.Test(t, func(t *testing.T) {
			l := begin(t, Config{}, balanced(), host("a"))
			defer func() { l.stop() }()
			crash := func() {
				l.after(time.Duration(moment) * 50 * time.Millisecond)
				l.stop()
				l.start()
				l.after(time.Hour)
			}
			crash()
			if len(l.balancers) != 1 || len(l.service().Status.LoadBalancer.Ingress) != 1 {
				t.Errorf("moment %d: %v, %+v", moment, l.balancers, l.service().Status)
			}
			l.update(terminating)
			crash()
			if _, err := l.cluster.CoreV1().Services("ns").Get(t.Context(), "s", metav1.GetOptions{}); err == nil || len(l.balancers) > 0 {
				t.Errorf("moment %d: the Service is still there (%v), or its load balancer: %v", moment, err, l.balancers)
			}
		})
	}
}
