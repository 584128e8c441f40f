package bed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// Kubelet creates an instance and waits until its kubelet has registered the Node. It
// checks that the kubelet has set the taint. A Node with a provider ID may lack the
// taint: a daemon has already initialised it, because no kubelet of a bed sets a provider
// ID.
func (b *Bed) Kubelet(t *testing.T, i simulator.Instance) simulator.Instance {
	t.Helper()
	return b.Kubelets(t, i)[0]
}

// Kubelets does the same as Kubelet for several instances, which boot together.
func (b *Bed) Kubelets(t *testing.T, instances ...simulator.Instance) []simulator.Instance {
	t.Helper()
	created := b.Boot(t, instances...)
	for _, i := range created {
		b.AwaitNode(t, i.Name, 2*time.Minute, func(node *corev1.Node) error {
			if !nodes.IsTainted(node) && node.Spec.ProviderID == "" {
				return errors.New("the kubelet has registered without the taint")
			}
			return nil
		})
	}
	return created
}

// Boot creates instances whose kubelets will register Nodes. The cleanup of the
// test waits until the kubelets have ended, and then deletes the Nodes. A kubelet
// that still ran would register its Node again.
func (b *Bed) Boot(t *testing.T, instances ...simulator.Instance) []simulator.Instance {
	t.Helper()
	for _, i := range instances {
		b.deleteLater(t, i.Name)
	}
	t.Cleanup(func() {
		expect.WithinContext(context.WithoutCancel(t.Context()), t, expect.Soon, func(ctx context.Context) error {
			running, err := b.Running(ctx)
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
		created = append(created, b.Cloud.Instance(t, i))
	}
	return created
}

// Register creates a Node that is deleted at the end of the test.
func (b *Bed) Register(t *testing.T, node *corev1.Node) *corev1.Node {
	t.Helper()
	b.deleteLater(t, node.Name)
	created, err := b.Admin.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// Pair creates an instance and its Node. The Node has no kubelet.
func (b *Bed) Pair(t *testing.T, c *Cloud, i simulator.Instance) (simulator.Instance, *corev1.Node) {
	t.Helper()
	return c.Instance(t, i), b.Register(t, nodes.New(i.Name))
}

func (b *Bed) deleteLater(t *testing.T, name string) {
	t.Helper()
	expect.Cleanup(t, func(ctx context.Context) error {
		if err := b.Admin.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}

// Patch patches a Node as its owner would.
func (b *Bed) Patch(t *testing.T, name, body string) {
	t.Helper()
	_, err := b.Admin.CoreV1().Nodes().Patch(t.Context(), name, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// Node reads a Node.
func (b *Bed) Node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node, err := b.Admin.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// AwaitNode waits until check returns nil for the Node.
func (b *Bed) AwaitNode(t *testing.T, name string, within time.Duration, check func(*corev1.Node) error) *corev1.Node {
	t.Helper()
	var node *corev1.Node
	expect.Within(t, within, func(ctx context.Context) error {
		var err error
		if node, err = b.Admin.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if err := check(node); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
		return nil
	})
	return node
}
