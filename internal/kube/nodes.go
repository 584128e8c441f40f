package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	informersv1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// maxWriteAge is the longest time for which our own write is remembered if
	// the informer does not see it.
	maxWriteAge = time.Minute
	// maxWrites is the maximum number of writes that are remembered. On a busy
	// machine, an informer can be some seconds behind.
	maxWrites = 2000
)

// newest returns a cache over the informer's store. While the store does not yet
// have our own last write of an object, the cache returns the object as it was
// after that write.
func newest(ctx context.Context, store cache.Store) cache.MutationCache {
	return cache.NewIntegerResourceVersionMutationCacheWithOptions(klog.FromContext(ctx), store,
		cache.MutationCacheOptions{TTL: maxWriteAge, MaxCacheSize: maxWrites})
}

// Nodes reads and patches Nodes.
type Nodes struct {
	client typedcorev1.NodeInterface
	newest cache.MutationCache
}

// NewNodes returns a Nodes that reads from informer and writes with client. The
// informer must be of a factory from NewInformerFactory.
func NewNodes(ctx context.Context, client kubernetes.Interface, informer informersv1.NodeInformer) *Nodes {
	return &Nodes{
		client: client.CoreV1().Nodes(),
		newest: newest(ctx, informer.Informer().GetStore()),
	}
}

// NodePatch is a change of a Node outside its status. A field with its zero value
// changes nothing.
type NodePatch struct {
	// Node is the Node for which the decision was made. The API server refuses the
	// patch if another Node now has this name. It also refuses the patch if one of the
	// fields to change no longer has the value that it has in this Node. Changes of
	// other fields do not conflict.
	Node *corev1.Node
	// ProviderID is the provider ID to set. An existing one cannot be changed.
	ProviderID string
	// Labels and Annotations are those to set. A nil value removes the key.
	Labels, Annotations map[string]*string
	// Taints, if not nil, replace the Node's taints.
	Taints *[]corev1.Taint
	// PodCIDRs are the pod CIDRs to set. The Node must have none. The first CIDR
	// is the one of the primary family.
	PodCIDRs []string
}

// NodeStatusPatch is a change of a Node's status.
type NodeStatusPatch struct {
	// UID identifies the Node. Another Node with the same name is not changed.
	UID types.UID
	// Addresses, if not nil, replace the Node's addresses.
	Addresses []corev1.NodeAddress
	// Condition, if not nil, replaces the condition of the same type.
	Condition *corev1.NodeCondition
	// Without, if not empty, is the type of a condition to remove.
	Without corev1.NodeConditionType
}

// Cached returns the Node from the informer. If our own last write has not reached the
// informer yet, Cached returns the result of that write, so that the same decision is
// not made twice. The caller must not change the Node. If the Node does not exist,
// Cached returns an error that apierrors.IsNotFound recognises.
func (n *Nodes) Cached(name string) (*corev1.Node, error) {
	obj, exists, err := n.newest.GetByKey(name)
	if err != nil {
		return nil, fmt.Errorf("node %s in the cache: %w", name, err)
	}
	if !exists {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	return obj.(*corev1.Node), nil
}

// Live reads the Node from the API server instead of a cache.
func (n *Nodes) Live(ctx context.Context, name string) (*corev1.Node, error) {
	node, err := n.client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read node %s: %w", name, err)
	}
	return node, nil
}

// All reads all Nodes from the API server instead of a cache. The result has at
// least the Nodes that existed when the request was made. If the list is not
// complete, All returns an error.
func (n *Nodes) All(ctx context.Context) ([]corev1.Node, error) {
	// Without a resourceVersion the answer is never older than the request, even if it
	// comes from the API server's own cache.
	list, err := n.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	if list.Continue != "" {
		return nil, errors.New("list nodes: the API server has returned a part of them")
	}
	return list.Items, nil
}

// Patch changes the Node and returns the changed Node. IsStale reports whether an
// error means that the Node has changed since the decision.
func (n *Nodes) Patch(ctx context.Context, p NodePatch) (*corev1.Node, error) {
	return n.patch(ctx, p.Node.Name, types.JSONPatchType, p.operations())
}

// PatchStatus changes the Node's status and returns the changed Node.
func (n *Nodes) PatchStatus(ctx context.Context, name string, p NodeStatusPatch) (*corev1.Node, error) {
	return n.patch(ctx, name, types.StrategicMergePatchType, p.body(), "status")
}

// Delete deletes the Node if it still has the same UID and the same
// resourceVersion. IsStale reports whether an error means that the Node has
// changed.
func (n *Nodes) Delete(ctx context.Context, node *corev1.Node) error {
	return write(ctx, "delete node "+node.Name, func(ctx context.Context) error {
		return n.client.Delete(ctx, node.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &node.UID, ResourceVersion: &node.ResourceVersion},
		})
	})
}

type object map[string]any

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitzero"`
}

// operations returns the operations of the patch. The tests of the UID and of the
// fields to change come first, and then the changes. The provider ID needs no test,
// because the API server refuses to change an existing one.
func (p NodePatch) operations() []operation {
	tests := []operation{{Op: "test", Path: "/metadata/uid", Value: p.Node.UID}}
	var changes []operation
	if p.ProviderID != "" {
		changes = append(changes, operation{Op: "add", Path: "/spec/providerID", Value: p.ProviderID})
	}
	if p.Taints != nil {
		tests = append(tests, operation{Op: "test", Path: "/spec/taints", Value: orNull(p.Node.Spec.Taints)})
		changes = append(changes, operation{Op: "add", Path: "/spec/taints", Value: orNull(*p.Taints)})
	}
	if len(p.PodCIDRs) > 0 {
		tests = append(tests, operation{Op: "test", Path: "/spec/podCIDRs", Value: null})
		changes = append(changes,
			operation{Op: "add", Path: "/spec/podCIDR", Value: p.PodCIDRs[0]}, operation{Op: "add", Path: "/spec/podCIDRs", Value: p.PodCIDRs})
	}
	for _, m := range []struct {
		path string
		have map[string]string
		want map[string]*string
	}{
		{"/metadata/labels", p.Node.Labels, p.Labels},
		{"/metadata/annotations", p.Node.Annotations, p.Annotations},
	} {
		t, c := ofMap(m.path, m.have, m.want)
		tests, changes = append(tests, t...), append(changes, c...)
	}
	return append(tests, changes...)
}

// ofMap returns the tests and the changes for a map of strings. The object might
// not have the map yet.
func ofMap(path string, have map[string]string, want map[string]*string) (tests, changes []operation) {
	if len(want) == 0 {
		return nil, nil
	}
	if len(have) == 0 {
		tests = append(tests, operation{Op: "test", Path: path, Value: null})
		changes = append(changes, operation{Op: "add", Path: path, Value: object{}})
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		current, exists := have[key]
		switch {
		case exists:
			tests = append(tests, operation{Op: "test", Path: at, Value: current})
		case len(have) > 0:
			tests = append(tests, operation{Op: "test", Path: at, Value: null})
		}
		switch value := want[key]; {
		case value != nil:
			changes = append(changes, operation{Op: "add", Path: at, Value: *value})
		case exists:
			changes = append(changes, operation{Op: "remove", Path: at})
		}
	}
	return tests, changes
}

// null is the JSON value with which a test operation checks that a field is
// missing.
const null = jsonNull("null")

type jsonNull string

// MarshalJSON implements json.Marshaler.
func (n jsonNull) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// orNull returns the list, or null for an empty one. In a test operation, null
// means that the field is missing. In a change, null removes the field.
func orNull(taints []corev1.Taint) any {
	if len(taints) == 0 {
		return null
	}
	return taints
}

func (p NodeStatusPatch) body() object {
	status := object{}
	if p.Addresses != nil {
		// Without the directive $patch: replace, the API server merges the list by
		// type. It then keeps only one of two addresses of the same type
		// (upstream-behaviour 3.6).
		list := make([]any, 0, len(p.Addresses)+1)
		for _, address := range p.Addresses {
			list = append(list, address)
		}
		status["addresses"] = append(list, object{"$patch": "replace"})
	}
	var conditions []any
	if p.Condition != nil {
		conditions = append(conditions, p.Condition)
	}
	if p.Without != "" {
		conditions = append(conditions, object{"$patch": "delete", "type": p.Without})
	}
	if conditions != nil {
		status["conditions"] = conditions
	}
	return object{"metadata": object{"uid": p.UID}, "status": status}
}

func (n *Nodes) patch(ctx context.Context, name string, kind types.PatchType, body any, subresources ...string) (*corev1.Node, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode patch of node %s: %w", name, err)
	}
	var node *corev1.Node
	err = write(ctx, "patch node "+name, func(ctx context.Context) error {
		var err error
		node, err = n.client.Patch(ctx, name, kind, data, metav1.PatchOptions{}, subresources...)
		return err
	})
	if err != nil {
		return nil, err
	}
	n.newest.Mutation(trimNode(node))
	return node, nil
}
