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
	// ownWritesFor is how long a write of ours is remembered, at the most, while
	// the informer has not seen it.
	ownWritesFor = time.Minute
	// ownWrites is how many are. An informer on a busy machine is behind by the
	// writes of some seconds.
	ownWrites = 2000
)

// newest is what the informer's store has, or what a write of ours has left.
func newest(ctx context.Context, store cache.Store) cache.MutationCache {
	return cache.NewIntegerResourceVersionMutationCacheWithOptions(klog.FromContext(ctx), store,
		cache.MutationCacheOptions{TTL: ownWritesFor, MaxCacheSize: ownWrites})
}

// Nodes reads and patches Nodes.
type Nodes struct {
	client typedcorev1.NodeInterface
	newest cache.MutationCache
}

// NewNodes returns the Nodes that client patches and that informer, which
// belongs to a factory of NewInformerFactory, caches.
func NewNodes(ctx context.Context, client kubernetes.Interface, informer informersv1.NodeInformer) *Nodes {
	return &Nodes{
		client: client.CoreV1().Nodes(),
		newest: newest(ctx, informer.Informer().GetStore()),
	}
}

// NodePatch is what to change of a Node outside its status. Zero values leave
// a field as it is.
type NodePatch struct {
	// Node is the state that was decided upon. The write is refused where
	// another Node has the name, or where what the patch changes is no longer
	// as it was; what others write meanwhile elsewhere is no conflict.
	Node *corev1.Node
	// ProviderID can only be set, never changed.
	ProviderID string
	// Labels and Annotations to set; a nil value removes the key.
	Labels, Annotations map[string]*string
	// Taints, if not nil, replace the Node's taints.
	Taints *[]corev1.Taint
}

// NodeStatusPatch is what to change of a Node's status.
type NodeStatusPatch struct {
	// UID is the Node that is meant.
	UID types.UID
	// Addresses, if not nil, replace the Node's addresses.
	Addresses []corev1.NodeAddress
	// Condition, if not nil, replaces the condition of its type.
	Condition *corev1.NodeCondition
}

// Cached returns the Node as the informer has it, or as our own last write has
// left it where the informer is behind: who decides upon a state that it has
// changed itself decides twice. The Node must not be changed. An error for
// which apierrors.IsNotFound holds means that there is none.
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

// Live reads the Node from the API server, past every cache.
func (n *Nodes) Live(ctx context.Context, name string) (*corev1.Node, error) {
	node, err := n.client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read node %s: %w", name, err)
	}
	return node, nil
}

// Patch changes the Node and returns it as it then is. IsStale tells whether
// an error means that the Node was no longer the one that was decided upon.
func (n *Nodes) Patch(ctx context.Context, p NodePatch) (*corev1.Node, error) {
	return n.patch(ctx, p.Node.Name, types.JSONPatchType, p.operations())
}

// PatchStatus changes the Node's status and returns the Node as it then is.
func (n *Nodes) PatchStatus(ctx context.Context, name string, p NodeStatusPatch) (*corev1.Node, error) {
	return n.patch(ctx, name, types.StrategicMergePatchType, p.body(), "status")
}

// Delete deletes the Node if it is still exactly as it was read: the same UID
// and the same resourceVersion. IsStale tells whether an error means that it
// was not.
func (n *Nodes) Delete(ctx context.Context, node *corev1.Node) error {
	return write(ctx, "delete node "+node.Name, func(ctx context.Context) error {
		return n.client.Delete(ctx, node.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &node.UID, ResourceVersion: &node.ResourceVersion},
		})
	})
}

// IsStale tells whether a write was refused because the object has changed or
// has been replaced since it was read. A patch that names another UID is
// answered with 422, since a UID is immutable, and so is one whose tests fail;
// the latter names no field, as every refusal of a value does.
func IsStale(err error) bool {
	if apierrors.IsConflict(err) {
		return true
	}
	refusal, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) {
		return false
	}
	var fields []string
	if refusal.ErrStatus.Details != nil {
		for _, cause := range refusal.ErrStatus.Details.Causes {
			fields = append(fields, cause.Field)
		}
	}
	return slices.Contains(fields, "metadata.uid") || strings.Join(fields, "") == ""
}

// IsRejected tells whether a write was refused for what it says or for who
// says it, so that the same write will be refused again until somebody changes
// something.
func IsRejected(err error) bool {
	return !IsStale(err) && (apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsUnauthorized(err))
}

type object map[string]any

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitzero"`
}

// operations test all that the patch changes before they change anything.
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

// ofMap are the operations on a map of strings, which may not be there yet.
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

// null is the value of what is not there.
const null = jsonNull("null")

type jsonNull string

// MarshalJSON is part of json.Marshaler.
func (n jsonNull) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// orNull is the list, or null where it is empty: that removes the field.
func orNull(taints []corev1.Taint) any {
	if len(taints) == 0 {
		return null
	}
	return taints
}

func (p NodeStatusPatch) body() object {
	status := object{}
	if p.Addresses != nil {
		// Without the directive the server merges by type, and two addresses
		// of one type are then one (upstream-behaviour 3.6).
		list := make([]any, 0, len(p.Addresses)+1)
		for _, address := range p.Addresses {
			list = append(list, address)
		}
		status["addresses"] = append(list, object{"$patch": "replace"})
	}
	if p.Condition != nil {
		status["conditions"] = []any{p.Condition}
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
	n.newest.Mutation(node)
	return node, nil
}
