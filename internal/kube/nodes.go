package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// ownWritesFor is how long a write of ours is remembered, at the most, while
// the informer has not seen it.
const ownWritesFor = time.Minute

// Nodes reads and patches Nodes.
type Nodes struct {
	client typedcorev1.NodeInterface
	newest cache.MutationCache
}

// NewNodes returns the Nodes that client patches and that informer, which
// belongs to a factory of NewInformerFactory, caches.
func NewNodes(ctx context.Context, client kubernetes.Interface, informer informersv1.NodeInformer) *Nodes {
	store := informer.Informer().GetIndexer()
	return &Nodes{
		client: client.CoreV1().Nodes(),
		newest: cache.NewIntegerResourceVersionMutationCache(klog.FromContext(ctx), store, store, ownWritesFor, false),
	}
}

// NodePatch is what to change of a Node outside its status. Zero values leave
// a field as it is.
type NodePatch struct {
	// UID is the Node that is meant; another one under its name is not touched.
	UID types.UID
	// ResourceVersion is the state that was decided upon. The Taints are one
	// list to the API server, so a patch of them needs it.
	ResourceVersion string
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
	// ResourceVersion is the state that was decided upon; empty: any. It is
	// needed where another write follows that builds on the same state.
	ResourceVersion string
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
func (n *Nodes) Patch(ctx context.Context, name string, p NodePatch) (*corev1.Node, error) {
	return n.patch(ctx, name, p.body())
}

// PatchStatus changes the Node's status and returns the Node as it then is.
func (n *Nodes) PatchStatus(ctx context.Context, name string, p NodeStatusPatch) (*corev1.Node, error) {
	return n.patch(ctx, name, p.body(), "status")
}

// IsStale tells whether a write was refused because the object has changed or
// has been replaced since it was read. A patch that names another UID is
// answered with 422, since a UID is immutable.
func IsStale(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsInvalid(err) && names(err, "metadata.uid")
}

// IsRejected tells whether a write was refused for what it says or for who
// says it, so that the same write will be refused again until somebody changes
// something.
func IsRejected(err error) bool {
	return !IsStale(err) && (apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsUnauthorized(err))
}

// names tells whether the API server's refusal names the field.
func names(err error, field string) bool {
	refusal, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || refusal.ErrStatus.Details == nil {
		return false
	}
	return slices.ContainsFunc(refusal.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool { return c.Field == field })
}

type object map[string]any

func (p NodePatch) body() object {
	metadata := precondition(p.UID, p.ResourceVersion)
	if len(p.Labels) > 0 {
		metadata["labels"] = p.Labels
	}
	if len(p.Annotations) > 0 {
		metadata["annotations"] = p.Annotations
	}
	spec := object{}
	if p.ProviderID != "" {
		spec["providerID"] = p.ProviderID
	}
	if p.Taints != nil {
		spec["taints"] = orNull(*p.Taints)
	}
	body := object{"metadata": metadata}
	if len(spec) > 0 {
		body["spec"] = spec
	}
	return body
}

// precondition is the metadata that makes a patch fail on any other object or
// state.
func precondition(uid types.UID, resourceVersion string) object {
	metadata := object{"uid": uid}
	if resourceVersion != "" {
		metadata["resourceVersion"] = resourceVersion
	}
	return metadata
}

// orNull is the list, or null where it is empty: that removes the field.
func orNull(taints []corev1.Taint) any {
	if len(taints) == 0 {
		return nil
	}
	return taints
}

func (p NodeStatusPatch) body() object {
	status := object{}
	if p.Addresses != nil {
		// Without the directive the server merges by type, and two addresses
		// of one type are then one (behaviour page 3.6).
		list := make([]any, 0, len(p.Addresses)+1)
		for _, address := range p.Addresses {
			list = append(list, address)
		}
		status["addresses"] = append(list, object{"$patch": "replace"})
	}
	if p.Condition != nil {
		status["conditions"] = []any{p.Condition}
	}
	return object{"metadata": precondition(p.UID, p.ResourceVersion), "status": status}
}

// patchTimeout bounds a write. It is longer than a process that ends waits for
// one: who cannot say whether a write is over must not give its lease back.
const patchTimeout = 30 * time.Second

// patch does not begin once the context has ended, and is not cut short by its
// end: a request that is given up here may still be under way in the API
// server, while another replica writes the same Node (S7).
func (n *Nodes) patch(ctx context.Context, name string, body object, subresources ...string) (*corev1.Node, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode patch of node %s: %w", name, err)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("patch node %s: %w", name, context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patchTimeout)
	defer cancel()
	node, err := n.client.Patch(ctx, name, types.StrategicMergePatchType, data, metav1.PatchOptions{}, subresources...)
	if err != nil {
		return nil, fmt.Errorf("patch node %s: %w", name, err)
	}
	n.newest.Mutation(node)
	return node, nil
}
