package node

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/testlog"
	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
)

func TestMain(m *testing.M) {
	watch.DefaultChanSize = 10_000 // On a busy machine, the fake API server writes faster than an informer reads.
	testlog.Run(m)
}

// life has a cluster, a simulated cloud, and a controller that uses both.
type life struct {
	t        *testing.T
	cluster  *fake.Clientset
	cloud    *simulator.Client
	endpoint string
	instance simulator.Instance
	stop     func()

	mu      sync.Mutex
	events  []string                       // guarded by mu
	version int                            // version that the last patch has set; guarded by mu
	refuse  func(subresource string) error // returns the error of a patch; guarded by mu
}

// refusing makes the API server refuse the patches for which f returns an error.
func (l *life) refusing(f func(subresource string) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = f
}

// onPatch refuses a patch if refuse returns an error for it. Otherwise it gives
// the Node a new version, as an API server does.
func (l *life) onPatch(action clienttesting.Action) (bool, runtime.Object, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse != nil {
		if err := l.refuse(action.GetSubresource()); err != nil {
			return true, nil, err
		}
	}
	tracker, resource := l.cluster.Tracker(), action.GetResource()
	_, patched, err := clienttesting.ObjectReaction(tracker)(action)
	if err != nil {
		return true, nil, err
	}
	node := patched.(*corev1.Node).DeepCopy()
	l.version++
	node.ResourceVersion = strconv.Itoa(l.version)
	return true, node, tracker.Update(resource, node, "")
}

// Node implements recorder.
func (l *life) Node(node *corev1.Node, _, reason, _ string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, node.Name+" "+reason)
}

func (l *life) recorded() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

// begin starts a controller for a cluster with these Nodes. Its cloud has the instance
// n1.
func begin(t *testing.T, nodes ...runtime.Object) *life {
	t.Helper()
	engine, err := simulator.New(simulator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	l := &life{t: t, version: 1000, cluster: fake.NewSimpleClientset(nodes...), endpoint: server.URL, cloud: simulator.NewClient(server.URL).Operator()}
	l.instance, err = l.cloud.CreateInstance(t.Context(), simulator.Instance{
		Name: "n1", Zone: "z1", Region: "r1", Type: "small", Labels: map[string]string{"rack": "a"},
		Addresses: []simulator.Address{{Type: simulator.InternalIP, Address: "127.0.1.1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	l.cluster.PrependReactor("patch", "nodes", l.onPatch)
	l.start()
	t.Cleanup(func() { l.stop() })
	return l
}

// start starts a controller as the daemon does. A second call is a restart.
func (l *life) start() {
	l.t.Helper()
	vendor, err := simulated.New(strings.NewReader("endpoint: " + l.endpoint))
	if err != nil {
		l.t.Fatal(err)
	}
	made, err := cloud.Make(l.t.Context(), func(context.Context) (cloudprovider.Interface, error) { return vendor, nil })
	if err != nil {
		l.t.Fatal(err)
	}
	gateway, err := made.Open(l.t.Context(), cloud.Config{CallerTimeout: time.Minute})
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	informers := kube.NewInformerFactory(l.cluster, 0, nil)
	informer := informers.Core().V1().Nodes()
	c := New(Deps{
		Nodes:     kube.NewNodes(ctx, l.cluster, informer),
		Informer:  informer,
		Instances: gateway.Instances(),
		Events:    l,
	}, Config{Reads: 4, Refresh: 100 * time.Millisecond, Labels: follows})
	informers.StartWithContext(ctx)
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	l.stop = func() {
		cancel()
		if err := <-done; err != nil {
			l.t.Errorf("Run: %v", err)
		}
		informers.Shutdown()
		l.stop = func() {}
	}
}

// until polls the Node n1. It returns the Node when the first function returns true for
// it, or when the optional second function returns true for the error of the request.
func (l *life) until(what string, holds func(*corev1.Node) bool, or ...func(error) bool) *corev1.Node {
	l.t.Helper()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	for {
		node, err := l.cluster.CoreV1().Nodes().Get(l.t.Context(), "n1", metav1.GetOptions{})
		if err == nil && holds(node) || len(or) > 0 && or[0](err) {
			return node
		}
		select {
		case <-deadline.C:
			l.t.Fatalf("never %s: %v, %+v; events %v", what, err, node, l.recorded())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// untilEvent waits for an event.
func (l *life) untilEvent(event string) {
	l.t.Helper()
	l.until("event "+event, func(*corev1.Node) bool { return slices.Contains(l.recorded(), event) })
}

func (l *life) update(patch simulator.InstancePatch) {
	l.t.Helper()
	if _, err := l.cloud.UpdateInstance(l.t.Context(), l.instance.ID, patch); err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) fault(f simulator.Fault) {
	l.t.Helper()
	if err := l.cloud.SetFault(l.t.Context(), f); err != nil {
		l.t.Fatal(err)
	}
}

// writes returns the writes to the API server so far.
func (l *life) writes() []string {
	var writes []string
	for _, action := range l.cluster.Actions() {
		if verb := action.GetVerb(); verb != "get" && verb != "list" && verb != "watch" {
			writes = append(writes, strings.TrimSuffix(verb+" "+action.GetResource().Resource+"/"+action.GetSubresource(), "/"))
		}
	}
	return writes
}

func isReleased(n *corev1.Node) bool { return !nodefact.IsUninitialized(n) }

var nodesResource = schema.GroupResource{Resource: "nodes"}

func conflict() error { return apierrors.NewConflict(nodesResource, "n1", nil) }

func registered() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u1", Labels: map[string]string{}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{uninitialized}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{hostname}},
	}
}

func TestLifeOfANode(t *testing.T) {
	l := begin(t, registered())

	node := l.until("released", isReleased)
	if got, want := node.Spec.ProviderID, "simulated://r1/"+l.instance.ID; got != want {
		t.Errorf("provider ID %q, want %q", got, want)
	}
	if diff := cmp.Diff([]corev1.NodeAddress{internal, hostname}, node.Status.Addresses); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"patch nodes/status", "patch nodes"}, l.writes()); diff != "" {
		t.Errorf("writes of an initialisation (-want +got):\n%s", diff)
	}
	l.untilEvent("n1 Synced")

	large, row := "large", "b"
	moved := []simulator.Address{{Type: simulator.InternalIP, Address: "127.0.1.2"}, {Type: simulator.InternalIP, Address: "fd00::2"}}
	l.update(simulator.InstancePatch{Type: &large, Labels: map[string]*string{"rack": nil, "row": &row}, Addresses: moved})
	l.until("in step", func(n *corev1.Node) bool {
		return n.Labels[corev1.LabelInstanceTypeStable] == large && n.Labels[corev1.LabelInstanceType] == large &&
			n.Labels["rack"] == "a" && n.Labels["row"] == "b" && len(n.Status.Addresses) == 3
	})
	before := l.writes()
	if err := l.cloud.ResetCalls(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.until("looked at five times more", func(*corev1.Node) bool {
		report, err := l.cloud.Calls(t.Context())
		return err == nil && report.Count() >= 5
	})
	if diff := cmp.Diff(before, l.writes()); diff != "" {
		t.Errorf("writes while nothing has changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"n1 Synced"}, l.recorded()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestNodeWaitsThroughFaultsAndIsReleasedAfterwards(t *testing.T) {
	for _, fault := range []simulator.Fault{
		{Name: "denied", Kind: simulator.FaultDenied, Count: 2},
		{Name: "outage", Kind: simulator.FaultOutage, Count: 2},
		{Name: "absent", Kind: simulator.FaultNotFound, Count: 2},
		{Name: "reset", Kind: simulator.FaultReset, Count: 1},
		{Name: "lost", Kind: simulator.FaultLostReply, Count: 1},
		{Name: "throttled", Kind: simulator.FaultThrottle, Count: 1, Rate: 1, Burst: 1},
	} {
		t.Run(fault.Name, func(t *testing.T) {
			l := begin(t)
			l.fault(fault)
			if _, err := l.cluster.CoreV1().Nodes().Create(t.Context(), registered(), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			l.until("released", isReleased)
			l.untilEvent("n1 Synced")
		})
	}
}

// A process that dies between the two writes leaves a Node with addresses and
// with its taint. The next process writes only what is missing.
func TestRestartBetweenTheTwoWrites(t *testing.T) {
	l := begin(t)
	l.refusing(func(subresource string) error {
		if subresource == "" {
			return apierrors.NewInternalError(errors.New("the connection is gone"))
		}
		return nil
	})
	if _, err := l.cluster.CoreV1().Nodes().Create(t.Context(), registered(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	node := l.until("with addresses", func(n *corev1.Node) bool { return len(n.Status.Addresses) == 2 })
	if !nodefact.IsUninitialized(node) {
		t.Error("the taint is gone before the provider ID is there")
	}
	l.stop()
	l.refusing(nil)
	l.cluster.ClearActions()
	l.start()
	l.until("released", isReleased)
	if diff := cmp.Diff([]string{"patch nodes"}, l.writes()); diff != "" {
		t.Errorf("writes after the restart (-want +got):\n%s", diff)
	}
}

// changing is an API server with another client. The client writes the Node before each
// of the first patches.
type changing struct {
	node      *corev1.Node
	conflicts int
}

func (c *changing) Cached(string) (*corev1.Node, error) { return c.node, nil }

func (c *changing) Live(context.Context, string) (*corev1.Node, error) { return c.node, nil }

func (c *changing) Patch(_ context.Context, p kube.NodePatch) (*corev1.Node, error) {
	if len(p.Node.Spec.Taints) != len(c.node.Spec.Taints) {
		return nil, conflict()
	}
	if c.conflicts > 0 {
		c.conflicts--
		c.node = c.node.DeepCopy()
		c.node.Spec.Taints = append(c.node.Spec.Taints, other)
		return nil, conflict()
	}
	c.node.Spec.Taints = *p.Taints
	return c.node, nil
}

func (c *changing) PatchStatus(context.Context, string, kube.NodeStatusPatch) (*corev1.Node, error) {
	return c.node, nil
}

// describing is a cloud that describes every instance and counts the questions.
type describing struct{ calls int }

func (d *describing) Metadata(context.Context, *corev1.Node) (cloud.Metadata, error) {
	d.calls++
	return cloud.Metadata{ProviderID: "p://1", Addresses: []corev1.NodeAddress{internal}}, nil
}

func (d *describing) MetadataAtLowPriority(ctx context.Context, node *corev1.Node) (cloud.Metadata, error) {
	return d.Metadata(ctx, node)
}
func (*describing) Refresh(context.Context, []*corev1.Node) []cloud.Answer { return nil }
func (*describing) AwaitRefresh(ctx context.Context) error                 { return ctx.Err() }
func (*describing) BatchSize() int                                         { return 1 }

func TestConflictCausesAFreshReadAndNoNewQuestion(t *testing.T) {
	for _, tt := range []struct {
		name      string
		conflicts int
		gives     bool // lets other Nodes go first, after many tries
	}{
		{"NoConflict", 0, false},
		{"SomeConflicts", 3, false},
		{"TooMany", freshReads, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			informer := kube.NewInformerFactory(fake.NewSimpleClientset(), 0, nil).Core().V1().Nodes()
			server, asked := &changing{node: fresh(), conflicts: tt.conflicts}, &describing{}
			c := New(Deps{Nodes: server, Informer: informer, Instances: asked, Events: &life{t: t}}, Config{})
			result, err := c.Reconcile(t.Context(), "n1")
			if err != nil || result.Retry != tt.gives {
				t.Errorf("Reconcile = %+v, %v, want another try: %v", result, err, tt.gives)
			}
			if got := nodefact.IsUninitialized(server.node); got != tt.gives {
				t.Errorf("uninitialised = %v, want %v", got, tt.gives)
			}
			if want := 1 + tt.conflicts; !tt.gives && len(server.node.Spec.Taints) != want {
				t.Errorf("taints %v, want the %d that others have set", server.node.Spec.Taints, want)
			}
			if asked.calls != 1 {
				t.Errorf("%d calls of the cloud, want 1", asked.calls)
			}
		})
	}
}

func TestForgottenWhenDeleted(t *testing.T) {
	l := begin(t)
	l.fault(simulator.Fault{Name: "denied", Kind: simulator.FaultDenied})
	if _, err := l.cluster.CoreV1().Nodes().Create(t.Context(), registered(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	l.untilEvent("n1 CloudInitFailed")
	if err := l.cluster.CoreV1().Nodes().Delete(t.Context(), "n1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	again := registered()
	again.UID = "u2"
	if _, err := l.cluster.CoreV1().Nodes().Create(t.Context(), again, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	l.until("two events for two Nodes", func(*corev1.Node) bool {
		return cmp.Equal([]string{"n1 CloudInitFailed", "n1 CloudInitFailed"}, l.recorded(), cmpopts.EquateEmpty())
	})
}

func TestHeartbeatsDoNotWake(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*corev1.Node)
		want bool
	}{
		{"Heartbeat", func(n *corev1.Node) {
			n.ResourceVersion = "2"
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, LastHeartbeatTime: metav1.Now()}}
		}, false},
		{"Label", label("a", "b"), true},
		{"AnnotationOfSomebodyElse", annotation("a", "b"), false},
		{"NodeIP", annotation(api.AnnotationAlphaProvidedIPAddr, "127.0.1.1"), true},
		{"Record", annotation(AnnotationLabels, "{}"), true},
		{"Cordon", func(n *corev1.Node) { n.Spec.Unschedulable = true }, false},
		{"Taint", func(n *corev1.Node) { n.Spec.Taints = nil }, true},
		{"ProviderID", func(n *corev1.Node) { n.Spec.ProviderID = "p://1" }, true},
		{"Address", addresses(internal), true},
		{"Deletion", func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} }, true},
		{"AnotherNode", func(n *corev1.Node) { n.UID = "u2" }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := wakes(ownership.Claim{}, fresh(), fresh(tt.edit)); got != tt.want {
				t.Errorf("wakes = %v, want %v", got, tt.want)
			}
		})
	}
}

// After a conflict, the pass reads the Node again. If the Node is gone, the controller
// forgets it.
func TestNodeThatGoesDuringAPass(t *testing.T) {
	l := begin(t)
	l.refusing(func(string) error {
		if err := l.cluster.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("nodes"), "", "n1"); err != nil {
			t.Log(err) // The second attempt finds that the Node is gone.
		}
		return conflict()
	})
	if _, err := l.cluster.CoreV1().Nodes().Create(t.Context(), registered(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	l.until("gone", func(*corev1.Node) bool { return false }, apierrors.IsNotFound)
	l.stop()
	if diff := cmp.Diff([]string{}, l.recorded(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestWriteThatFailsIsShownAndTheCloudIsAskedAgain(t *testing.T) {
	for name, err := range map[string]error{
		"WriteRejected": apierrors.NewForbidden(nodesResource, "n1", errors.New("no rule")),
		"WriteFailed":   apierrors.NewInternalError(errors.New("a webhook is down")),
	} {
		t.Run(name, func(t *testing.T) {
			l := begin(t)
			l.refusing(func(subresource string) error {
				if subresource != "" {
					return nil
				}
				return err
			})
			if _, err := l.cluster.CoreV1().Nodes().Create(t.Context(), registered(), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			l.untilEvent("n1 CloudInitFailed")
			l.refusing(nil)
			l.until("released", isReleased)
		})
	}
}

func TestAnswerGetsOld(t *testing.T) {
	informer := kube.NewInformerFactory(fake.NewSimpleClientset(), 0, nil).Core().V1().Nodes()
	server, asked, now := &changing{node: fresh(), conflicts: 1000}, &describing{}, clocktesting.NewFakeClock(noon)
	c := New(Deps{Nodes: server, Informer: informer, Instances: asked, Events: &life{t: t}}, Config{Clock: now})
	for range 2 {
		if result, err := c.Reconcile(t.Context(), "n1"); err != nil || !result.Retry {
			t.Fatalf("Reconcile = %+v, %v, want another try", result, err)
		}
	}
	if asked.calls != 1 {
		t.Errorf("%d calls for two passes in a row, want 1", asked.calls)
	}
	now.Step(fetchedFor)
	_, _ = c.Reconcile(t.Context(), "n1")
	if asked.calls != 2 {
		t.Errorf("%d calls, want another one since the answer is old", asked.calls)
	}
}
