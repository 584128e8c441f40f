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

	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// life has a cluster, a cloud, and a controller that uses both. It runs in a
// testing/synctest bubble, which has its own time.
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
	writes    []string               // patches and events in their order; guarded by mu
	takes     time.Duration          // the duration of a call; guarded by mu
	// patchTakes is the duration of a write to the API server; guarded by mu
	patchTakes time.Duration
	// slow is the name of a Service; each write to it takes half a minute; guarded by mu
	slow      string
	echoes    bool             // Ensure returns the Service's own status, and the cloud writes the address later; guarded by mu
	address   string           // guarded by mu
	hides     bool             // Find finds nothing; guarded by mu
	byAddress bool             // the cloud finds the load balancer to delete by the address in the status; guarded by mu
	given     []*corev1.Node   // the nodes that Ensure last got; guarded by mu
	subject   *corev1.Service  // the Service of the last call; guarded by mu
	reads     func(key string) // runs before a pass reads a Service from the cache; guarded by mu
	refuse    error            // the error of each write to the API server; guarded by mu
	refuses   string           // patches with this text are refused, if it is not empty; guarded by mu
	fail      func(call string) error
	ended     func(service *corev1.Service) // runs at the end of each call, before the call returns to the controller; guarded by mu
	version   int                           // of the last write; guarded by mu
	// most is the maximum number of Services in one call; 0 means that each call is
	// about one Service.
	most int
	// answer, if not nil, returns the errors of a call about several Services.
	answer func(services []string, errs []error) []error
}

func begin(t *testing.T, cfg Config, objects ...runtime.Object) *life {
	t.Helper()
	return beginMany(t, 0, cfg, objects...)
}

// beginMany is like begin, but the cloud takes up to `most` Services in one call.
func beginMany(t *testing.T, most int, cfg Config, objects ...runtime.Object) *life {
	t.Helper()
	l := &life{
		t: t, config: cfg, cluster: fake.NewSimpleClientset(objects...), balancers: map[types.UID][]string{}, busy: map[string]bool{},
		takes: time.Second, address: "127.64.0.1", fail: func(string) error { return nil }, version: 1000, most: most,
	}
	l.cluster.PrependReactor("patch", "services", l.onPatch)
	l.start()
	return l
}

// slowServices is an API server whose writes take time. The time passes before the
// fake API server gets the write, because the fake API server carries out only one
// write at a time.
type slowServices struct {
	services

	life *life
}

func (s slowServices) Cached(key string) (*corev1.Service, error) {
	s.life.mu.Lock()
	reads := s.life.reads
	s.life.mu.Unlock()
	if reads != nil {
		reads(key)
	}
	return s.services.Cached(key)
}

func (s slowServices) PatchStatus(ctx context.Context, namespace, name string, p kube.ServicePatch) (*corev1.Service, error) {
	s.life.mu.Lock()
	takes := s.life.patchTakes
	if s.life.slow == name {
		takes = 30 * time.Second
	}
	s.life.mu.Unlock()
	time.Sleep(takes)
	return s.services.PatchStatus(ctx, namespace, name, p)
}

// onPatch refuses all patches while l.refuse is set, and patches that contain the text
// in l.refuses. After any other patch, it gives the Service a new version, as an API
// server does. If the Service is being deleted and no longer has a finalizer, onPatch
// deletes it.
func (l *life) onPatch(action clienttesting.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "status" {
		l.t.Errorf("a patch of %s/%q, want all to go to the status", action.GetResource().Resource, action.GetSubresource())
	}
	l.mu.Lock()
	refused := l.refuse
	if text := string(action.(clienttesting.PatchAction).GetPatch()); l.refuses != "" && strings.Contains(text, l.refuses) {
		refused = apierrors.NewForbidden(corev1.Resource("services"), action.(clienttesting.PatchAction).GetName(), errors.New("refused"))
	}
	l.writes = append(l.writes, "patch")
	l.mu.Unlock()
	if refused != nil {
		return true, nil, refused
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
	informers := kube.NewInformerFactory(l.cluster, 0, l.config.Policy.IsServed)
	informer := informers.Core().V1().Services()
	deps := Deps{
		Services:  slowServices{kube.NewServices(ctx, l.cluster, informer, l.config.Policy.IsServed), l},
		Informer:  informer,
		Nodes:     informers.Core().V1().Nodes(),
		Balancers: l,
		Events:    l,
	}
	if l.most > 0 {
		deps.Many = l
	}
	if l.config.Backends.Subset.Choice != (Choice{}) {
		deps.Slices = informers.Discovery().V1().EndpointSlices()
	}
	c := New(deps, l.config)
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
	l.writes = append(l.writes, reason)
}

// call makes one call to the cloud. Calls about the same Service must not overlap.
func (l *life) call(ctx context.Context, what string, service *corev1.Service, change func()) error {
	l.mu.Lock()
	key, call := service.Namespace+"/"+service.Name, what+" "+service.Name
	l.calls, l.subject = append(l.calls, call), service
	if l.busy[key] {
		l.t.Errorf("%s overlaps another call", call)
	}
	l.busy[key] = true
	takes, err, ended := l.takes, l.fail(call), l.ended
	l.mu.Unlock()
	if ended != nil {
		defer ended(service)
	}
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

// Ensure implements balancers.
func (l *life) Ensure(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	stored, err := l.cluster.CoreV1().Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
	if err == nil && !hasFinalizer(stored) {
		l.t.Errorf("S2: the cloud is called for %s without a finalizer", service.Name)
	}
	l.change(func() { l.given = nodes })
	err = l.call(ctx, "ensure", service, func() { l.balancers[service.UID] = nodeSet{nodes: nodes}.names() })
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.echoes {
		return service.Status.LoadBalancer.DeepCopy(), nil
	}
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: l.address}}}, nil
}

// Update implements balancers.
func (l *life) Update(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) error {
	return l.call(ctx, "update", service, func() { l.balancers[service.UID] = nodeSet{nodes: nodes}.names() })
}

// Delete implements balancers.
func (l *life) Delete(ctx context.Context, service *corev1.Service) error {
	return l.call(ctx, "delete", service, func() {
		if !l.byAddress || slices.ContainsFunc(service.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool { return i.IP == l.address }) {
			delete(l.balancers, service.UID)
		}
	})
}

// Find implements balancers.
func (l *life) Find(ctx context.Context, service *corev1.Service) (exists bool, err error) {
	err = l.call(ctx, "find", service, func() { exists = l.balancers[service.UID] != nil && !l.hides })
	return exists, err
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

func (l *life) service() *corev1.Service { return l.serviceOf("ns", "s") }

func (l *life) serviceOf(namespace, name string) *corev1.Service {
	l.t.Helper()
	service, err := l.cluster.CoreV1().Services(namespace).Get(l.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return service
}

func (l *life) update(edits ...func(*corev1.Service)) { l.edit(l.service(), edits...) }

// edit makes edits of a Service that the cluster has returned.
func (l *life) edit(service *corev1.Service, edits ...func(*corev1.Service)) {
	l.t.Helper()
	for _, edit := range edits {
		edit(service)
	}
	l.change(func() { l.version++; service.ResourceVersion = strconv.Itoa(l.version) })
	if _, err := l.cluster.CoreV1().Services(service.Namespace).Update(l.t.Context(), service, metav1.UpdateOptions{}); err != nil {
		l.t.Error(err)
	}
}

// expect fails the test unless the calls and events since the last call of expect are
// the wanted ones.
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

// twenty returns the Services old-00 to old-19.
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
