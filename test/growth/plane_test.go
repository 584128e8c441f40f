package growth_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// plane is a fake API server with Nodes. It includes the informer of a daemon. It
// is as small as possible, because a real API server or a fake client would take
// most of the test's time.
type plane struct {
	informer cache.SharedIndexInformer

	mu      sync.Mutex
	nodes   map[string]*corev1.Node // guarded by mu; a Node is replaced and never changed
	version int                     // guarded by mu
	writes  int                     // by the daemon; guarded by mu
	events  chan watch.Event        // of the only watch; guarded by mu
}

func newPlane() *plane {
	p := &plane{nodes: map[string]*corev1.Node{}}
	p.informer = cache.NewSharedIndexInformer(&cache.ListWatch{WatchFuncWithContext: p.watch, ListWithContextFunc: p.list}, &corev1.Node{}, 0, cache.Indexers{})
	return p
}

// Informer and Lister implement client-go's NodeInformer.
func (p *plane) Informer() cache.SharedIndexInformer { return p.informer }

func (p *plane) Lister() listersv1.NodeLister {
	return listersv1.NewNodeLister(p.informer.GetIndexer())
}

func (p *plane) list(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return nil, apierrors.NewMethodNotSupported(corev1.Resource("nodes"), "list") // The informer gets the Nodes from the watch.
}

// watch streams all Nodes, then a bookmark, and then the changes of the Nodes.
func (p *plane) watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = make(chan watch.Event, len(p.nodes)+100)
	for _, name := range slices.Sorted(maps.Keys(p.nodes)) {
		p.events <- watch.Event{Type: watch.Added, Object: p.nodes[name]}
	}
	p.events <- watch.Event{Type: watch.Bookmark, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: strconv.Itoa(p.version), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}}
	return stream{p.events}, nil
}

type stream struct{ events chan watch.Event }

func (stream) Stop()                            {}
func (s stream) ResultChan() <-chan watch.Event { return s.events }

// change changes a Node, as a writer other than the daemon would.
func (p *plane) change(name string, edit func(*corev1.Node)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(name, edit)
}

// write stores a changed copy of a Node, or a new Node if there is none of that name. The
// caller holds mu.
func (p *plane) write(name string, edit func(*corev1.Node)) *corev1.Node {
	node, happened := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, watch.Added
	if current := p.nodes[name]; current != nil {
		node, happened = current.DeepCopy(), watch.Modified
	}
	edit(node)
	p.version++
	node.ResourceVersion = strconv.Itoa(p.version)
	p.nodes[name] = node
	p.tell(happened, node)
	return node
}

func (p *plane) tell(happened watch.EventType, node *corev1.Node) {
	if p.events != nil {
		p.events <- watch.Event{Type: happened, Object: node}
	}
}

// count returns the number of Nodes for which is(node) is true.
func (p *plane) count(is func(*corev1.Node) bool) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, node := range p.nodes {
		if is(node) {
			n++
		}
	}
	return n
}

// Cached returns the Node as it was last written.
func (p *plane) Cached(name string) (*corev1.Node, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if node := p.nodes[name]; node != nil {
		return node, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}

// Live, Patch, PatchStatus, Delete and Cached implement the nodes interface of each
// controller that runs here.
func (p *plane) Live(_ context.Context, name string) (*corev1.Node, error) { return p.Cached(name) }

func (p *plane) Patch(_ context.Context, patch kube.NodePatch) (*corev1.Node, error) {
	return p.patched(patch.Node.Name, func(n *corev1.Node) {
		if patch.ProviderID != "" {
			n.Spec.ProviderID = patch.ProviderID
		}
		if patch.Taints != nil {
			n.Spec.Taints = *patch.Taints
		}
		merge(&n.Labels, patch.Labels)
		merge(&n.Annotations, patch.Annotations)
	})
}

func merge(into *map[string]string, patch map[string]*string) {
	for key, value := range patch {
		if value == nil {
			delete(*into, key)
			continue
		}
		if *into == nil {
			*into = map[string]string{}
		}
		(*into)[key] = *value
	}
}

func (p *plane) PatchStatus(_ context.Context, name string, patch kube.NodeStatusPatch) (*corev1.Node, error) {
	return p.patched(name, func(n *corev1.Node) {
		if patch.Addresses != nil {
			n.Status.Addresses = patch.Addresses
		}
		if c := patch.Condition; c != nil {
			n.Status.Conditions = append(slices.DeleteFunc(n.Status.Conditions, func(o corev1.NodeCondition) bool { return o.Type == c.Type }), *c)
		}
	})
}

func (p *plane) patched(name string, edit func(*corev1.Node)) (*corev1.Node, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes++
	if p.nodes[name] == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	return p.write(name, edit), nil
}

func (p *plane) Delete(_ context.Context, node *corev1.Node) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes++
	current := p.nodes[node.Name]
	if current == nil || current.ResourceVersion != node.ResourceVersion {
		return apierrors.NewConflict(corev1.Resource("nodes"), node.Name, nil)
	}
	delete(p.nodes, node.Name)
	p.tell(watch.Deleted, current)
	return nil
}
