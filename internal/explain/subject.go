package explain

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
)

// reader reads the data for the answers from the cluster.
type reader struct {
	kubernetes.Interface

	lease string // NAMESPACE/NAME
	clock clock.PassiveClock
}

// one reads the data about one object.
func (r reader) one(ctx context.Context, o Object) (subject, error) {
	from := cluster.NewReader(r, metav1.NamespaceAll, 0)
	s := subject{Object: o, now: r.clock.Now()}
	var err error
	if o.Kind == kindRoute {
		from.Nodes(ctx)
		err = from.View.Missing[cluster.Nodes]
		s = s.owned(from.View.Nodes)
	} else if s.of, err = r.get(ctx, o); err == nil {
		s.Object = identified(o, s.of)
	}
	if err != nil {
		return s, err
	}
	if namespace, name := s.eventsAbout(); name != "" {
		from.EventsOf(namespace, "involvedObject.kind="+o.eventsOn()+",involvedObject.name="+name)(ctx)
		s.events = from.View.Events
	}
	from.OneLease(ctx, r.lease)
	s.daemon = daemonOf(from.View, r.lease)
	return s, from.View.Missing[cluster.Events]
}

func (r reader) get(ctx context.Context, o Object) (metav1.Object, error) {
	switch namespace, name := split(o.Key); o.Kind {
	case kindNode:
		return r.CoreV1().Nodes().Get(ctx, o.Key, metav1.GetOptions{})
	case kindService:
		return r.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	case kindVolume:
		return r.CoreV1().PersistentVolumes().Get(ctx, o.Key, metav1.GetOptions{})
	default:
		return r.CertificatesV1().CertificateSigningRequests().Get(ctx, o.Key, metav1.GetOptions{})
	}
}

func identified(o Object, of metav1.Object) Object {
	o.UID, o.ResourceVersion = string(of.GetUID()), of.GetResourceVersion()
	return o
}

// owned returns a route with the oldest Node that has its CIDR as a pod CIDR.
func (s subject) owned(nodes []corev1.Node) subject {
	cidr, _ := netip.ParsePrefix(s.Object.Key) // checked as an argument
	owners := slices.DeleteFunc(nodes, func(n corev1.Node) bool {
		return !slices.ContainsFunc(append(n.Spec.PodCIDRs, n.Spec.PodCIDR), func(text string) bool {
			p, err := netip.ParsePrefix(text)
			return err == nil && p == cidr
		})
	})
	if s.owners = len(owners); s.owners > 0 {
		oldest := slices.MinFunc(owners, func(a, b corev1.Node) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
		s.of = &oldest
	}
	return s
}

// eventsOn returns the kind of the object that the events are about.
func (o Object) eventsOn() string {
	switch o.Kind {
	case kindService:
		return "Service"
	case kindVolume:
		return "PersistentVolume"
	default:
		return "Node"
	}
}

// eventsAbout returns the object that the events are about. For a request, that is the
// Node that has made it.
func (s subject) eventsAbout() (namespace, name string) {
	switch of := s.of.(type) {
	case nil:
		return "", ""
	case *corev1.Service:
		return of.Namespace, of.Name
	case *certificatesv1.CertificateSigningRequest:
		return metav1.NamespaceDefault, requestfact.RequesterOf(of)
	default:
		return metav1.NamespaceDefault, of.GetName()
	}
}

// everything reads all Nodes, the Services of a namespace, the volumes, the requests,
// and the events about these objects. An empty namespace means all namespaces. If the
// user may not list volumes or requests, the result unread has the API server's answer.
// That is not an error, because the controllers of volumes and requests are off by
// default.
func (r reader) everything(ctx context.Context, namespace string) (v *cluster.View, unread []string, err error) {
	from := cluster.NewReader(r, namespace, 0)
	v = from.View
	cluster.Together(ctx, from.Nodes, from.Services, from.Volumes, from.Requests,
		from.EventsOf(metav1.NamespaceDefault, "involvedObject.kind=Node", "involvedObject.kind=PersistentVolume"),
		from.EventsOf(namespace, "involvedObject.kind=Service"))
	for _, s := range []cluster.Source{cluster.Nodes, cluster.Services, cluster.Events, cluster.Volumes, cluster.Requests} {
		switch err := v.Missing[s]; {
		case (s == cluster.Volumes || s == cluster.Requests) && apierrors.IsForbidden(err):
			unread = append(unread, err.Error())
		case err != nil:
			return nil, nil, err
		}
	}
	from.OneLease(ctx, r.lease)
	v.Now = r.clock.Now()
	return v, unread, nil
}

// keys returns the keys of the objects of a kind, for completion. It returns none if the
// API server does not answer.
func (r reader) keys(ctx context.Context, kind string) (all []string) {
	from := cluster.NewReader(r, metav1.NamespaceAll, 0)
	switch kind {
	case kindNode:
		from.Nodes(ctx)
	case kindRoute:
		from.Nodes(ctx)
		for i := range from.View.Nodes {
			all = append(all, from.View.Nodes[i].Spec.PodCIDRs...)
		}
		return all
	case kindService:
		from.Services(ctx)
	case kindVolume:
		from.Volumes(ctx)
	case kindRequest:
		from.Requests(ctx)
	}
	for _, s := range subjects(from.View) {
		all = append(all, s.Object.Key)
	}
	return all
}

// subjects returns the objects of a View that might wait. Of the Services, these are those
// that need a load balancer or might still have one.
func subjects(v *cluster.View) (all []subject) {
	events := map[string][]corev1.Event{} // by the kind, the namespace and the name of the object
	for _, e := range slices.Concat(v.Events, v.OtherEvents) {
		o := &e.InvolvedObject
		key := o.Kind + " " + o.Namespace + "/" + o.Name
		events[key] = append(events[key], e)
	}
	add := func(kind, key string, of metav1.Object) {
		s := subject{Object: identified(Object{Kind: kind, Key: key}, of), of: of, now: v.Now}
		namespace, name := s.eventsAbout()
		if kind != kindService {
			namespace = "" // Events name no namespace for an object that has none.
		}
		s.events = events[s.Object.eventsOn()+" "+namespace+"/"+name]
		all = append(all, s)
	}
	for i := range v.Nodes {
		add(kindNode, v.Nodes[i].Name, &v.Nodes[i])
	}
	for i := range v.Services {
		s := &v.Services[i]
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer || slices.Contains(s.Finalizers, mark.ServiceFinalizer) {
			add(kindService, cluster.NameOf(s), s)
		}
	}
	for i := range v.Volumes {
		add(kindVolume, v.Volumes[i].Name, &v.Volumes[i])
	}
	for i := range v.Requests {
		add(kindRequest, v.Requests[i].Name, &v.Requests[i])
	}
	return all
}

// daemonView has what was read about the daemon.
type daemonView struct {
	name   string // NAMESPACE/NAME of the Lease
	lease  *coordinationv1.Lease
	events []corev1.Event
	// unread is the reason why the Lease could not be read. It is empty if the Lease was
	// read, or if there is none.
	unread string
}

// daemonOf returns the part of a View that is about the daemon with this Lease.
func daemonOf(v *cluster.View, lease string) daemonView {
	d := daemonView{name: lease, lease: v.Lease(lease)}
	if err := v.Missing[cluster.Leases]; err != nil {
		d.unread = fmt.Sprintf("Whether a daemon works is not known, because the Lease %s cannot be read: %v", lease, err)
	}
	for _, e := range v.Events {
		if o := &e.InvolvedObject; o.Kind == "Lease" && o.Namespace+"/"+o.Name == lease {
			d.events = append(d.events, e)
		}
	}
	return d
}
