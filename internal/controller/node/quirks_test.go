package node

import (
	"cmp"
	"context"
	"errors"
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

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/test/quirks"
)

// vendor is a provider whose instances a test describes. Other instances are not
// found.
type vendor struct {
	cloudprovider.Interface

	mu        sync.Mutex
	instances map[string]cloudprovider.InstanceMetadata // by name; guarded by mu
	hidden    map[string]cloudprovider.InstanceMetadata // taken away by a test; guarded by mu
	asked     []string                                  // names of Nodes; guarded by mu
	// Each question first calls this function, unless it is nil. If the function
	// returns an error, that error is the answer.
	before func() error
	// hints has the vendor's list and watch. It is nil if the vendor offers none.
	hints *hints
	// The comparison waits until the channel turn is closed, unless it is nil.
	turn chan struct{}
}

func (*vendor) ProviderName() string                             { return "p" }
func (*vendor) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

func (*vendor) Routes() (cloudprovider.Routes, bool) { return nil, false }

func (v *vendor) InstancesV2() (cloudprovider.InstancesV2, bool) {
	switch {
	case v.hints != nil && v.hints.inBatches:
		return inBatches{hinted{machines{vendor: v}}}, true
	case v.hints != nil:
		return hinted{machines{vendor: v}}, true
	}
	return machines{vendor: v}, true
}

func (*vendor) Instances() (cloudprovider.Instances, bool) { return nil, false }

func (*vendor) Zones() (cloudprovider.Zones, bool) { return nil, false }

func (*vendor) Clusters() (cloudprovider.Clusters, bool)                          { return nil, false }
func (*vendor) HasClusterID() bool                                                { return true }
func (*vendor) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

type machines struct {
	cloudprovider.InstancesV2

	vendor *vendor
}

// InstanceMetadata returns the answer of the cloud.
func (m machines) InstanceMetadata(_ context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	v := m.vendor
	if v.before != nil {
		if err := v.before(); err != nil {
			return nil, err
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked = append(v.asked, node.Name)
	i, ok := v.instances[node.Name]
	if !ok {
		return nil, cloudprovider.InstanceNotFound
	}
	return &i, nil
}

// instanceOf returns the instance of the Node with this name.
func instanceOf(name string) cloudprovider.InstanceMetadata {
	return cloudprovider.InstanceMetadata{
		ProviderID: "p://" + name, InstanceType: "small", Zone: "z1", Region: "r1",
		NodeAddresses:    []corev1.NodeAddress{internal},
		AdditionalLabels: map[string]string{"rack": "a"},
	}
}

// quirky has a cluster, a vendor's cloud, and a controller that uses both. It runs in
// testing/synctest, which has its own clock.
type quirky struct {
	t       *testing.T
	vendor  *vendor
	cluster *fake.Clientset
	control *Controller
	stop    func()

	mu      sync.Mutex
	version int      // guarded by mu
	writes  int      // guarded by mu
	events  []string // guarded by mu
	// refuses returns the API server's error for a patch. If refuses is nil, the API
	// server accepts all patches. refuses is guarded by mu.
	refuses func(subresource string) error
}

// beginQuirky starts a controller for a cluster with these Nodes. Each Node has an
// instance. The parameter habits has the quirks of the provider.
func beginQuirky(t *testing.T, cfg Config, habits []quirks.Quirk, nodes ...*corev1.Node) *quirky {
	t.Helper()
	return beginWith(t, &vendor{}, cfg, habits, nodes...)
}

// beginWith does the same as beginQuirky for the given vendor.
func beginWith(t *testing.T, v *vendor, cfg Config, habits []quirks.Quirk, nodes ...*corev1.Node) *quirky {
	t.Helper()
	v.instances = map[string]cloudprovider.InstanceMetadata{}
	q := &quirky{t: t, version: 1000, vendor: v}
	var objects []runtime.Object
	for _, n := range nodes {
		n.CreationTimestamp = metav1.Now()
		objects = append(objects, n)
		q.vendor.instances[n.Name] = instanceOf(n.Name)
	}
	q.cluster = fake.NewSimpleClientset(objects...)
	q.cluster.PrependReactor("patch", "nodes", q.onPatch)
	made, err := cloud.Make(t.Context(), func(context.Context) (cloudprovider.Interface, error) {
		return quirks.Wrap(q.vendor, habits...), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := made.Open(t.Context(), cloud.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	informers := kube.NewInformerFactory(q.cluster, 0, nil)
	informer := informers.Core().V1().Nodes()
	cfg.Reads, cfg.Refresh, cfg.Labels = cmp.Or(cfg.Reads, 4), 5*time.Minute, follows
	deps := Deps{Nodes: kube.NewNodes(ctx, q.cluster, informer), Informer: informer, Instances: gateway.Instances(), Events: q}
	if v.turn != nil {
		deps.Instances = inTurn{deps.Instances, v.turn}
	}
	if v.hints != nil {
		deps.List, deps.Watch = gateway.Instances().Lister(), gateway.Instances().Watcher()
	}
	c := New(deps, cfg)
	q.control = c
	informers.StartWithContext(ctx)
	done := make(chan error, 1)
	go func() {
		time.Sleep(time.Nanosecond) // No pass begins before the test waits, so the test can change the cloud and the API server first.
		done <- c.Run(ctx)
	}()
	q.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		informers.Shutdown()
	}
	return q
}

// inTurn is a cloud in which the comparison waits for its turn.
type inTurn struct {
	instances

	turn chan struct{} // closed when it is the comparison's turn
}

// AwaitRefresh implements instances.
func (i inTurn) AwaitRefresh(ctx context.Context) error {
	select {
	case <-i.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// onPatch refuses a patch if the function q.refuses is not nil and returns an error for
// the patch. Otherwise onPatch gives the Node a new version, as the API server does.
func (q *quirky) onPatch(action clienttesting.Action) (bool, runtime.Object, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.writes++
	if q.refuses != nil {
		if err := q.refuses(action.GetSubresource()); err != nil {
			return true, nil, err
		}
	}
	tracker, resource := q.cluster.Tracker(), action.GetResource()
	_, patched, err := clienttesting.ObjectReaction(tracker)(action)
	if err != nil {
		return true, nil, err
	}
	node := patched.(*corev1.Node).DeepCopy()
	q.version++
	node.ResourceVersion = strconv.Itoa(q.version)
	return true, node, tracker.Update(resource, node, "")
}

// Node implements recorder.
func (q *quirky) Node(node *corev1.Node, _, reason, _ string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.events = append(q.events, node.Name+" "+reason)
}

// after lets time pass.
func (*quirky) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (q *quirky) node(name string) *corev1.Node {
	q.t.Helper()
	node, err := q.cluster.CoreV1().Nodes().Get(q.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		q.t.Fatal(err)
	}
	return node
}

// takeWrites returns the number of writes since its last call.
func (q *quirky) takeWrites() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.writes
	q.writes = 0
	return n
}

// takeAsked returns the names of the Nodes that were asked about since its last call.
func (q *quirky) takeAsked() []string {
	q.vendor.mu.Lock()
	defer q.vendor.mu.Unlock()
	asked := q.vendor.asked
	q.vendor.asked = nil
	return asked
}

func (q *quirky) refusing(f func(subresource string) error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refuses = f
}

// expectEvents checks the events in the order of their names.
func (q *quirky) expectEvents(want ...string) {
	q.t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	if got := slices.Sorted(slices.Values(q.events)); !slices.Equal(got, want) {
		q.t.Errorf("events %v, want %v", got, want)
	}
}

// joins returns a Node with the given name, as a kubelet registers it.
func joins(name string, edits ...func(*corev1.Node)) *corev1.Node {
	return fresh(append([]func(*corev1.Node){func(n *corev1.Node) { n.Name, n.UID = name, types.UID("u-"+name) }}, edits...)...)
}

func named(id string) func(*corev1.Node) { return func(n *corev1.Node) { n.Spec.ProviderID = id } }

// If the API server keeps refusing a write, the Node shows the refusal, both before and
// after the initialisation, and for every status code.
func TestRefusedWritesAreReported(t *testing.T) {
	webhook := func(code int32, reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: code, Reason: reason, Message: `admission webhook "w" denied the request: no`,
		}}
	}
	const policy = `nodes "n1" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`
	for name, refusal := range map[string]error{
		"Policy": &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid, Message: policy,
			Details: &metav1.StatusDetails{Name: "n1", Kind: "nodes", Causes: []metav1.StatusCause{{Message: policy}}},
		}},
		"WebhookWithoutAField":   webhook(422, metav1.StatusReasonInvalid),
		"WebhookAsConflict":      webhook(409, metav1.StatusReasonConflict),
		"WebhookThatCannotBeHad": apierrors.NewInternalError(errors.New("failed calling webhook")),
		"ConflictForEver":        conflict(),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				settledOne := settled(func(n *corev1.Node) { n.Name, n.UID = "n2", "u-n2" })
				q := beginQuirky(t, Config{}, nil, joins("n1"), settledOne)
				defer func() { q.stop() }()
				q.refusing(func(subresource string) error {
					if subresource == "" {
						return refusal
					}
					return nil
				})
				q.after(30 * time.Minute)
				q.expectEvents("n1 CloudInitFailed", "n2 CloudUpdateFailed")
				if c := nodefact.Condition(q.node("n1"), ConditionInitialized); c == nil || c.Status != corev1.ConditionFalse || !strings.HasPrefix(c.Reason, "Write") {
					t.Errorf("condition %v, want that the Node could not be written", c)
				}
				if n := q.takeWrites(); n > 1000 {
					t.Errorf("%d writes in half an hour", n)
				}
				q.refusing(nil)
				q.after(7 * time.Minute)
				if !isReleased(q.node("n1")) || q.node("n2").Labels["rack"] != "a" {
					t.Error("the Nodes are not in step after the refusals")
				}
			})
		})
	}
}

// The API server can answer the write of a condition with a conflict. Then the
// condition is written later, and the cloud is not asked more often.
func TestConflictAboutAConditionIsNotRepeatedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := beginQuirky(t, Config{}, nil, joins("n1"))
		defer func() { q.stop() }()
		q.vendor.mu.Lock()
		q.vendor.instances = nil // The cloud does not know the Node.
		q.vendor.mu.Unlock()
		q.refusing(func(string) error { return conflict() })
		q.after(30 * time.Minute)
		asked, writes := len(q.takeAsked()), q.takeWrites()
		if asked > 45 || writes > 45 {
			t.Errorf("in half an hour %d questions and %d writes, want fewer than two a minute", asked, writes)
		}
	})
}

// The cloud is asked less and less often about Nodes that it does not know. It is
// asked at once about a new Node and about a Node that changes.
func TestUnknownNodesDoNotUseUpTheQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var foreign []*corev1.Node
		for n := range 100 {
			foreign = append(foreign, joins("foreign-"+strconv.Itoa(n)))
		}
		q := beginQuirky(t, Config{}, nil, foreign...)
		defer func() { q.stop() }()
		q.vendor.mu.Lock()
		clear(q.vendor.instances)
		q.vendor.instances["n1"] = instanceOf("n1")
		q.vendor.mu.Unlock()
		q.after(time.Hour)
		q.takeAsked()
		q.after(time.Hour)
		if n := len(q.takeAsked()); n < 300 || n > 500 {
			t.Errorf("%d questions in an hour about 100 Nodes, want one each in 15 minutes", n)
		}
		if _, err := q.cluster.CoreV1().Nodes().Create(t.Context(), joins("n1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		q.after(time.Second)
		if !isReleased(q.node("n1")) {
			t.Error("a new Node waits")
		}
		q.takeAsked()
		changed := q.node("foreign-7")
		changed.Labels["a"] = "b"
		if _, err := q.cluster.CoreV1().Nodes().Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		q.after(time.Second / 2)
		if asked := q.takeAsked(); !slices.Contains(asked, "foreign-7") {
			t.Errorf("asked about %v after the change of foreign-7", asked)
		}
	})
}

// Quirks of real providers must not make labels flap. If a provider leaves out a label,
// the label stays, and nothing is written.
func TestLabelsDoNotFlap(t *testing.T) {
	for name, habits := range map[string][]quirks.Quirk{
		"OfferedWhileTheNodeLacksThem": {quirks.LabelsOnlyOnce},
		"NoneAfterAnErrorInside":       {quirks.LabelsSometimesNil},
		"Both":                         {quirks.LabelsOnlyOnce, quirks.LabelsSometimesNil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := beginQuirky(t, Config{}, habits, joins("n1"))
				defer func() { q.stop() }()
				q.after(11 * time.Minute)
				before := q.node("n1").Labels
				if before["rack"] != "a" || len(habits) == 1 && habits[0].Name == "LabelsOnlyOnce" && before[quirks.SetOnce] == "" {
					t.Errorf("labels %v, want all that were offered once", before)
				}
				q.takeWrites()
				q.after(2 * time.Hour)
				if n := q.takeWrites(); n > 0 {
					t.Errorf("%d writes in two hours, the labels are now %v", n, q.node("n1").Labels)
				}
			})
		})
	}
}

// A provider can spell the ID of an instance differently from the Node. The Node keeps
// its own ID. The Node is not initialised if another Node has the provider's ID, or if
// StrictIDs is set.
func TestAnotherSpellingOfTheProviderID(t *testing.T) {
	for _, tt := range []struct {
		name     string
		strict   bool
		nodes    []*corev1.Node
		released bool
	}{
		{"IsInitialised", false, []*corev1.Node{joins("n1", named("hcloud://bm-1"))}, true},
		{"IsNotInitialisedIfTheFlagSaysSo", true, []*corev1.Node{joins("n1", named("hcloud://bm-1"))}, false},
		{"IsNotInitialisedIfItIsAnotherNodes", false, []*corev1.Node{joins("n1", named("hcloud://bm-1")), joins("n2", named("hrobot://n1"))}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := beginQuirky(t, Config{StrictIDs: tt.strict}, []quirks.Quirk{quirks.SpellsIDsWith("hrobot")}, tt.nodes...)
				defer func() { q.stop() }()
				q.after(2 * time.Minute)
				node := q.node("n1")
				if node.Spec.ProviderID != "hcloud://bm-1" {
					t.Errorf("provider ID %q, want the Node's own", node.Spec.ProviderID)
				}
				if got := isReleased(node); got != tt.released {
					t.Errorf("released: %v, want %v", got, tt.released)
				}
				q.vendor.mu.Lock()
				moved := instanceOf("n1")
				moved.NodeAddresses = []corev1.NodeAddress{internal, external}
				q.vendor.instances["n1"] = moved
				q.vendor.mu.Unlock()
				q.after(6 * time.Minute)
				if got := slices.Contains(q.node("n1").Status.Addresses, external); got != tt.released {
					t.Errorf("the new address is written: %v, want %v", got, tt.released)
				}
			})
		})
	}
}

// With --node-condition=always, a Node costs one more write when it is initialised, and
// none later. A Node that was initialised before the flag was set costs one write.
func TestConditionOfEachNodeIsOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		always := Config{AlwaysShow: true}
		q := beginQuirky(t, always, nil, fresh())
		q.expectWrites("a new Node", 3)
		q.stop()
		initialized := q.node("n1").DeepCopy()
		if c := nodefact.Condition(initialized, ConditionInitialized); c == nil || c.Status != corev1.ConditionTrue {
			t.Errorf("condition %v, want True", c)
		}
		q = beginQuirky(t, always, nil, initialized)
		q.expectWrites("after a change of leaders", 0)
		q.stop()
		initialized.Status.Conditions = nil
		q = beginQuirky(t, always, nil, initialized)
		q.expectWrites("from before the flag was set", 1)
		q.stop()
		initialized.Status.Conditions = []corev1.NodeCondition{{Type: ConditionInitialized, Status: corev1.ConditionTrue}}
		q = beginQuirky(t, Config{}, nil, initialized)
		q.expectWrites("from before the flag was taken away", 1)
		q.stop()
		for name, n := range map[string]*corev1.Node{"without the flag": fresh(), "without the flag, after a wait": fresh(shows(corev1.ConditionFalse, "CloudDenied", "", noon))} {
			q = beginQuirky(t, Config{}, nil, n)
			q.expectWrites(name, 2)
			if c := nodefact.Condition(q.node("n1"), ConditionInitialized); c != nil {
				t.Errorf("%s: condition %+v", name, c)
			}
			q.stop()
		}
	})
}

// expectWrites lets an hour pass, and checks the number of writes during that hour.
func (q *quirky) expectWrites(what string, want int) {
	q.t.Helper()
	q.after(time.Hour)
	if got := q.takeWrites(); got != want {
		q.t.Errorf("%s: %d writes, want %d", what, got, want)
	}
}

// Two Nodes cannot be one instance. The second one waits while the kubelet of the first one
// reports, even if both join at once.
func TestSecondNodeOfAnInstanceWaits(t *testing.T) {
	for name, first := range map[string]*corev1.Node{
		"FirstIsInitialised": settled(reporting(corev1.ConditionTrue), named("p://n1")),
		"BothJoinAtOnce":     joins("n1", reporting(corev1.ConditionTrue)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := beginQuirky(t, Config{}, nil, first, joins("n2", reporting(corev1.ConditionTrue)))
				defer func() { q.stop() }()
				q.vendor.mu.Lock()
				q.vendor.instances["n2"] = instanceOf("n1")
				q.vendor.mu.Unlock()
				q.after(time.Hour)
				holder, waiting := q.node("n1"), q.node("n2")
				if isReleased(waiting) {
					holder, waiting = waiting, holder
				}
				shown := nodefact.Condition(waiting, ConditionInitialized)
				if !isReleased(holder) || isReleased(waiting) || shown == nil || shown.Reason != providerIDShared.Name {
					t.Fatalf("%s and %s have the taints %v and %v, the condition is %v", holder.Name, waiting.Name, holder.Spec.Taints, waiting.Spec.Taints, shown)
				}
				holder.Status.Conditions = nil
				reporting(corev1.ConditionUnknown)(holder)
				holder.ResourceVersion = "1000000"
				if _, err := q.cluster.CoreV1().Nodes().Update(t.Context(), holder, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				q.after(2 * time.Minute)
				if !isReleased(q.node(waiting.Name)) {
					t.Errorf("%s still waits although %s is silent", waiting.Name, holder.Name)
				}
			})
		})
	}
}

// A Node reports while the cloud does not know its instance. The periodic comparison notices.
func TestComparisonFindsThatAnInstanceIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := beginQuirky(t, Config{}, nil, settled(reporting(corev1.ConditionTrue), named("p://n1")))
		defer func() { q.stop() }()
		q.vendor.mu.Lock()
		delete(q.vendor.instances, "n1")
		q.vendor.mu.Unlock()
		q.after(24 * time.Hour)
		q.expectEvents("n1 " + unfoundNode.Name)
		if shown := nodefact.Condition(q.node("n1"), ConditionUnfound); shown == nil || shown.Status != corev1.ConditionTrue {
			t.Errorf("condition %v", shown)
		}
	})
}
