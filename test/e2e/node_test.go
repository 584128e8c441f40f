package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/simulator"
)

const (
	nodeSource    = "cloud-node-controller" // of our events
	labelExclude  = "fairlead.dev/exclude"
	labelRecord   = "fairlead.dev/cloud-labels" // an annotation
	conditionType = corev1.NodeConditionType("CloudInitialized")
)

// instance creates one that ends with the test.
func (c *cloud) instance(t *testing.T, i simulator.Instance) simulator.Instance {
	t.Helper()
	created, err := c.CreateInstance(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	cleanup(t, func(ctx context.Context) error {
		if err := c.TerminateInstance(ctx, created.ID); err != nil && !simulator.IsNotFound(err) {
			return err
		}
		return nil
	})
	return created
}

// change changes an instance.
func (c *cloud) change(t *testing.T, i simulator.Instance, p simulator.InstancePatch) simulator.Instance {
	t.Helper()
	changed, err := c.UpdateInstance(t.Context(), i.ID, p)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// kubelet creates an instance and waits until its kubelet has registered the
// Node, with the taint.
func (b *bed) kubelet(t *testing.T, i simulator.Instance) simulator.Instance {
	t.Helper()
	return b.kubelets(t, i)[0]
}

// kubelets boot together.
func (b *bed) kubelets(t *testing.T, instances ...simulator.Instance) []simulator.Instance {
	t.Helper()
	created := b.boot(t, instances...)
	for _, i := range created {
		b.awaitNode(t, i.Name, 2*time.Minute, func(node *corev1.Node) error {
			if !tainted(node) {
				return errors.New("the kubelet has registered without the taint")
			}
			return nil
		})
	}
	return created
}

// boot creates instances whose kubelets will register Nodes. The Nodes are
// deleted when no kubelet is left that could register them anew.
func (b *bed) boot(t *testing.T, instances ...simulator.Instance) []simulator.Instance {
	t.Helper()
	for _, i := range instances {
		b.deleteLater(t, i.Name)
	}
	t.Cleanup(func() {
		awaitWith(context.WithoutCancel(t.Context()), t, soon, func(ctx context.Context) error {
			running, err := b.running(ctx)
			if err != nil {
				return err
			}
			for _, i := range instances {
				if slices.Contains(running, "kubelet-"+i.Name) {
					return fmt.Errorf("the kubelet of %s still runs", i.Name)
				}
			}
			return nil
		})
	})
	var created []simulator.Instance
	for _, i := range instances {
		created = append(created, b.cloud.instance(t, i))
	}
	return created
}

// plain is a Node without a kubelet, as one would register it.
func plain(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: api.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule},
		}},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), Reason: "Test"}},
		},
	}
}

// register creates a Node that ends with the test.
func (b *bed) register(t *testing.T, node *corev1.Node) *corev1.Node {
	t.Helper()
	b.deleteLater(t, node.Name)
	created, err := b.admin.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// pair creates an instance and a Node without a kubelet for it.
func (b *bed) pair(t *testing.T, c *cloud, i simulator.Instance) (simulator.Instance, *corev1.Node) {
	t.Helper()
	return c.instance(t, i), b.register(t, plain(i.Name))
}

func (b *bed) deleteLater(t *testing.T, name string) {
	t.Helper()
	cleanup(t, func(ctx context.Context) error {
		if err := b.admin.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}

// patch changes a Node as its owner would.
func (b *bed) patch(t *testing.T, name, body string) {
	t.Helper()
	_, err := b.admin.CoreV1().Nodes().Patch(t.Context(), name, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// node reads a Node.
func (b *bed) node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node, err := b.admin.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// awaitNode waits until check finds nothing wrong with the Node.
func (b *bed) awaitNode(t *testing.T, name string, within time.Duration, check func(*corev1.Node) error) *corev1.Node {
	t.Helper()
	var node *corev1.Node
	await(t, within, func(ctx context.Context) error {
		var err error
		if node, err = b.admin.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if err := check(node); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
		return nil
	})
	return node
}

// initialized is nil if the Node is released.
func initialized(node *corev1.Node) error {
	if tainted(node) {
		return errors.New("it has the taint")
	}
	return nil
}

// is returns a check for exactly this: the instance's ID, labels and
// addresses, and no taint of ours.
func is(i simulator.Instance, addresses ...corev1.NodeAddress) func(*corev1.Node) error {
	return func(node *corev1.Node) error {
		if err := initialized(node); err != nil {
			return err
		}
		want := map[string]string{
			corev1.LabelInstanceType: i.Type, corev1.LabelInstanceTypeStable: i.Type,
			corev1.LabelFailureDomainBetaZone: i.Zone, corev1.LabelTopologyZone: i.Zone,
			corev1.LabelFailureDomainBetaRegion: i.Region, corev1.LabelTopologyRegion: i.Region,
		}
		maps.Copy(want, i.Labels)
		got := map[string]string{}
		for key := range want {
			got[key] = node.Labels[key]
		}
		return errors.Join(
			differ("provider ID", providerID(i), node.Spec.ProviderID),
			differ("labels", want, got),
			differ("addresses", addresses, node.Status.Addresses),
		)
	}
}

func providerID(i simulator.Instance) string { return "simulated://" + i.Region + "/" + i.ID }

// differ is nil if they do not.
func differ(what string, want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("%s (-want +got):\n%s", what, diff)
	}
	return nil
}

// addresses reads "InternalIP=10.0.0.1" and the like.
func addresses(texts ...string) []corev1.NodeAddress {
	var all []corev1.NodeAddress
	for _, text := range texts {
		kind, address, _ := strings.Cut(text, "=")
		all = append(all, corev1.NodeAddress{Type: corev1.NodeAddressType(kind), Address: address})
	}
	return all
}

// offered are the same for the cloud.
func offered(texts ...string) []simulator.Address {
	var all []simulator.Address
	for _, a := range addresses(texts...) {
		all = append(all, simulator.Address{Type: simulator.AddressType(a.Type), Address: a.Address})
	}
	return all
}

// stated are the addresses of a Node whose instance offers what the cloud
// says, and whose kubelet has its name as hostname.
func stated(i simulator.Instance) []corev1.NodeAddress {
	var all []corev1.NodeAddress
	for _, a := range i.Addresses {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Type), Address: a.Address})
	}
	return append(all, corev1.NodeAddress{Type: corev1.NodeHostName, Address: i.Name})
}

func condition(node *corev1.Node) *corev1.NodeCondition {
	n := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == conditionType })
	if n < 0 {
		return nil
	}
	return &node.Status.Conditions[n]
}

// told are the events about a Node that our controller has recorded, one
// string for each time: "Normal Synced: …".
func (b *bed) told(ctx context.Context, node string) ([]string, error) {
	return b.toldBy(ctx, nodeSource, node)
}

// toldBy are those of one source.
func (b *bed) toldBy(ctx context.Context, source, node string) ([]string, error) {
	return b.events(ctx, "Node", node, source)
}

// events are those about an object that a source has recorded.
func (b *bed) events(ctx context.Context, kind, name, source string) ([]string, error) {
	list, err := b.admin.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
		"involvedObject.kind": kind, "involvedObject.name": name, "source": source,
	}.String()})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range list.Items {
		for range max(e.Count, 1) {
			all = append(all, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
		}
	}
	return all, nil
}

// awaitEvent waits for an event that starts so. Events are written beside the
// work, and so a little later.
func (b *bed) awaitEvent(t *testing.T, node string, within time.Duration, start string) {
	t.Helper()
	await(t, within, func(ctx context.Context) error {
		all, err := b.told(ctx, node)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(e string) bool { return strings.HasPrefix(e, start) }) {
			return fmt.Errorf("node %s: no event %q among %q", node, start, all)
		}
		return nil
	})
}

// count is how many of the texts start so.
func count(all []string, start string) int {
	n := 0
	for _, text := range all {
		if strings.HasPrefix(text, start) {
			n++
		}
	}
	return n
}
