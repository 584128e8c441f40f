package cluster

import (
	"context"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

const pageSize = 500

// Reader reads objects into its View. The methods that read may run at the same time. If
// a source cannot be read, they record that in View.Missing.
type Reader struct {
	View *View

	client    kubernetes.Interface
	namespace string // of Services, Leases and workloads; empty means all
	pages     int    // the maximum number of pages of one kind; 0 means all
	mu        sync.Mutex
}

// NewReader returns a Reader. The namespace is that of Services, Leases and workloads;
// empty means all. Of each kind, it reads at most so many pages of 500 objects; 0 means
// all.
func NewReader(client kubernetes.Interface, namespace string, pages int) *Reader {
	return &Reader{client: client, namespace: namespace, pages: pages, View: &View{
		Missing: map[Source]error{}, Partly: map[Source]bool{}, Slices: map[string][]discoveryv1.EndpointSlice{},
	}}
}

// Together calls functions that read, all at the same time.
func Together(ctx context.Context, reads ...func(context.Context)) {
	var all sync.WaitGroup
	for _, read := range reads {
		all.Go(func() { read(ctx) })
	}
	all.Wait()
}

// with lets a function change the View while mu is locked.
func (r *Reader) with(change func(*View)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r.View)
}

func (r *Reader) missed(s Source, err error) { r.with(func(v *View) { v.Missing[s] = err }) }

// list reads the objects of a kind, but not more than the given number of pages.
func list[T any, L interface {
	runtime.Object
	GetContinue() string
}](ctx context.Context, r *Reader, s Source, most int, of metav1.ListOptions, page func(context.Context, metav1.ListOptions) (L, error)) []T {
	var all []T
	of.Limit = pageSize
	for n := 0; n < most || most == 0; n++ {
		got, err := page(ctx, of)
		if err == nil {
			err = meta.EachListItem(got, func(o runtime.Object) error {
				all = append(all, *any(o).(*T))
				return nil
			})
		}
		switch {
		case most == 0 && of.Continue != "" && apierrors.IsResourceExpired(err):
			all, of.Limit, of.Continue = nil, 0, "" // The rest of the pages is gone.
			continue
		case err != nil:
			r.missed(s, err)
			return nil
		case got.GetContinue() == "":
			return all
		}
		of.Continue = got.GetContinue()
	}
	r.with(func(v *View) { v.Partly[s] = true })
	return all
}

// Nodes reads all Nodes.
func (r *Reader) Nodes(ctx context.Context) {
	r.View.Nodes = list[corev1.Node](ctx, r, Nodes, r.pages, metav1.ListOptions{}, r.client.CoreV1().Nodes().List)
}

// Services reads the Services.
func (r *Reader) Services(ctx context.Context) {
	r.View.Services = list[corev1.Service](ctx, r, Services, r.pages, metav1.ListOptions{}, r.client.CoreV1().Services(r.namespace).List)
}

// Volumes reads all PersistentVolumes.
func (r *Reader) Volumes(ctx context.Context) {
	r.View.Volumes = list[corev1.PersistentVolume](ctx, r, Volumes, r.pages, metav1.ListOptions{}, r.client.CoreV1().PersistentVolumes().List)
}

// Leases reads all Leases except those of kubelets, because every Node has one of
// these.
func (r *Reader) Leases(ctx context.Context) {
	of := metav1.ListOptions{FieldSelector: fields.OneTermNotEqualSelector("metadata.namespace", corev1.NamespaceNodeLease).String()}
	r.View.Leases = list[coordinationv1.Lease](ctx, r, Leases, r.pages, of, r.client.CoordinationV1().Leases(r.namespace).List)
}

// OneLease reads one Lease and the events about it. The events are left out if they
// cannot be read, because the Lease says more.
func (r *Reader) OneLease(ctx context.Context, lease string) {
	namespace, name, _ := strings.Cut(lease, "/")
	l, err := r.client.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		r.View.Leases = append(r.View.Leases, *l)
	case !apierrors.IsNotFound(err):
		r.missed(Leases, err)
	}
	all := r.events(ctx, OtherEvents, namespace, "involvedObject.kind=Lease,involvedObject.name="+name)
	r.with(func(v *View) { v.Events = append(v.Events, all...) })
}

// mostOf bounds the pages of a kind of which there can be any number of objects: events,
// Pods and certificate requests.
func (r *Reader) mostOf() int { return min(r.pages, 4) }

// Requests reads the requests for serving certificates of kubelets.
func (r *Reader) Requests(ctx context.Context) {
	of := metav1.ListOptions{FieldSelector: "spec.signerName=" + certificatesv1.KubeletServingSignerName}
	r.View.Requests = list[certificatesv1.CertificateSigningRequest](ctx, r, Requests, r.mostOf(), of, r.client.CertificatesV1().CertificateSigningRequests().List)
}

// EventsOf returns a function that reads the events of a namespace that the selectors
// select.
func (r *Reader) EventsOf(namespace string, selectors ...string) func(context.Context) {
	return func(ctx context.Context) {
		for _, selector := range selectors {
			all := r.events(ctx, Events, namespace, selector)
			r.with(func(v *View) { v.Events = append(v.Events, all...) })
		}
	}
}

// OtherEvents reads the events that only a bundle needs: all events about volumes, and
// those events about Nodes and Services that are not warnings.
func (r *Reader) OtherEvents(ctx context.Context) {
	for _, selector := range []string{
		"involvedObject.kind=Service,type=" + corev1.EventTypeNormal,
		"involvedObject.kind=Node,type=" + corev1.EventTypeNormal,
		"involvedObject.kind=PersistentVolume",
	} {
		r.View.OtherEvents = append(r.View.OtherEvents, r.events(ctx, OtherEvents, metav1.NamespaceAll, selector)...)
	}
}

func (r *Reader) events(ctx context.Context, s Source, namespace, selector string) []corev1.Event {
	return list[corev1.Event](ctx, r, s, r.mostOf(), metav1.ListOptions{FieldSelector: selector}, r.client.CoreV1().Events(namespace).List)
}

func (r *Reader) pods(ctx context.Context, namespace, selector string) (all []Pod) {
	for _, p := range list[corev1.Pod](ctx, r, Pods, r.mostOf(), metav1.ListOptions{LabelSelector: selector}, r.client.CoreV1().Pods(namespace).List) {
		all = append(all, podOf(&p))
	}
	return all
}

// ComponentPods reads the Pods of the control plane, if they are visible.
func (r *Reader) ComponentPods(ctx context.Context) {
	for _, key := range []string{"component", "k8s-app"} { // Installers mark the Pods with one of these labels.
		for _, p := range r.pods(ctx, metav1.NamespaceSystem, key+" in ("+APIServer+","+ControllerManager+","+cloudControllerManager+")") {
			p.Component = p.Labels[key]
			r.with(func(v *View) {
				v.Pods = append(v.Pods, p)
				if p.Static && slices.ContainsFunc(p.Template.Containers, isManager) {
					v.Workloads = append(v.Workloads, p.workload())
				}
			})
		}
	}
}

// ManagerPods reads the Pods of the first managers. It runs after all functions that
// read workloads.
func (r *Reader) ManagerPods(ctx context.Context) {
	var missing bool
	if r.with(func(v *View) { missing = v.Missing[Pods] != nil }); missing {
		return
	}
	managers := r.View.Managers()
	for _, m := range managers[:min(len(managers), 6)] {
		if m.Workload != nil && m.Workload.Selector != nil {
			r.View.Pods = append(r.View.Pods, r.pods(ctx, m.Workload.Namespace, m.Workload.Selector.String())...)
		}
	}
}

// MostSlices is the maximum number of Services whose endpoints are read.
const MostSlices = 20

// Slices reads the endpoints of Services with a local traffic policy. It runs after
// Services.
func (r *Reader) Slices(ctx context.Context) {
	local := slices.DeleteFunc(slices.Clone(r.View.Services), func(s corev1.Service) bool {
		return s.Spec.Type != corev1.ServiceTypeLoadBalancer || s.DeletionTimestamp != nil || s.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal
	})
	if len(local) > MostSlices {
		r.with(func(v *View) { v.Partly[Slices] = true })
		local = local[:MostSlices]
	}
	for _, s := range local {
		of := metav1.ListOptions{LabelSelector: labels.Set{discoveryv1.LabelServiceName: s.Name}.String()}
		r.View.Slices[NameOf(&s)] = list[discoveryv1.EndpointSlice](ctx, r, Slices, r.pages, of, r.client.DiscoveryV1().EndpointSlices(s.Namespace).List)
	}
}

// Review answers which rights an account has.
func (r *Reader) Review(ctx context.Context, questions []Review) {
	var wait sync.WaitGroup
	turns := make(chan struct{}, 8)
	answered := make([]bool, len(questions))
	for i := range questions {
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			var err error
			if questions[i].Allowed, err = r.allowed(ctx, questions[i]); err != nil {
				r.missed(Reviews, err)
				return
			}
			answered[i] = true
		})
	}
	wait.Wait()
	for i, q := range questions {
		if answered[i] {
			r.View.Reviews = append(r.View.Reviews, q)
		}
	}
}

func (r *Reader) allowed(ctx context.Context, q Review) (bool, error) {
	resource, sub, _ := strings.Cut(q.Right.Resource, "/")
	namespace := strings.Split(q.Account, ":")[2]
	answer, err := r.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: q.Account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: q.Right.Namespace, Verb: q.Right.Verb, Group: q.Right.Group, Resource: resource, Subresource: sub, Name: q.Right.Name,
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}
