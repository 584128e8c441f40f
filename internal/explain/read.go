package explain

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
	"github.com/fairlead-k8s/fairlead/internal/controller/volumefact"
)

// reader reads the data for the answers from the cluster.
type reader struct {
	kubernetes.Interface

	lease string // NAMESPACE/NAME
	clock clock.PassiveClock
}

// view reads the data about one object.
func (r reader) view(ctx context.Context, o Object) (View, error) {
	v := View{Object: o, Now: r.clock.Now()}
	var err error
	switch o.Kind {
	case kindNode:
		if v.Node, err = r.CoreV1().Nodes().Get(ctx, o.Key, metav1.GetOptions{}); err == nil {
			v.Object = identified(o, v.Node)
			v.Events, err = r.eventsAbout(ctx, metav1.NamespaceDefault, "Node", o.Key)
		}
	case kindService:
		namespace, name := split(o.Key)
		if v.Service, err = r.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
			v.Object = identified(o, v.Service)
			v.Events, err = r.eventsAbout(ctx, namespace, "Service", name)
		}
	case kindVolume:
		if v.Volume, err = r.CoreV1().PersistentVolumes().Get(ctx, o.Key, metav1.GetOptions{}); err == nil {
			v.Object = identified(o, v.Volume)
			v.Events, err = r.eventsAbout(ctx, metav1.NamespaceDefault, "PersistentVolume", o.Key)
		}
	case kindRequest:
		if v.Request, err = r.CertificatesV1().CertificateSigningRequests().Get(ctx, o.Key, metav1.GetOptions{}); err == nil {
			v.Object = identified(o, v.Request)
			v.Events, err = r.eventsOfRequest(ctx, v.Request)
		}
	case kindRoute:
		v.CIDR, v.Owners, err = r.owners(ctx, o.Key)
		if owner := v.owner(); err == nil && owner != nil {
			v.Events, err = r.eventsAbout(ctx, metav1.NamespaceDefault, "Node", owner.Name)
		}
	}
	if err != nil {
		return View{}, err
	}
	v.Daemon = r.daemon(ctx)
	return v, nil
}

func identified(o Object, of metav1.Object) Object {
	o.UID, o.ResourceVersion = string(of.GetUID()), of.GetResourceVersion()
	return o
}

// owners parses the CIDR and returns the Nodes that have it as a pod CIDR.
func (r reader) owners(ctx context.Context, key string) (netip.Prefix, []corev1.Node, error) {
	cidr, err := netip.ParsePrefix(key)
	if err != nil {
		return cidr, nil, err
	}
	nodes, err := r.nodes(ctx)
	var owners []corev1.Node
	for _, n := range nodes {
		if hasCIDR(n, cidr) {
			owners = append(owners, n)
		}
	}
	return cidr, owners, err
}

func hasCIDR(n corev1.Node, cidr netip.Prefix) bool {
	for _, text := range append(n.Spec.PodCIDRs, n.Spec.PodCIDR) {
		if p, err := netip.ParsePrefix(text); err == nil && p == cidr {
			return true
		}
	}
	return false
}

// everything reads all Nodes, the Services of a namespace, the volumes, the requests,
// and the events about these objects. An empty namespace means all namespaces. If the
// user may not list volumes or requests, the result unread has the API server's answer.
// That is not an error, because the controllers of volumes and requests are off by
// default.
func (r reader) everything(ctx context.Context, namespace string) (l Lists, unread []string, err error) {
	if l.Nodes, err = r.nodes(ctx); err != nil {
		return Lists{}, nil, err
	}
	if l.Services, err = r.services(ctx, namespace); err != nil {
		return Lists{}, nil, err
	}
	ofNodes, err := r.events(ctx, metav1.NamespaceDefault, fields.Set{"involvedObject.kind": "Node"})
	if err != nil {
		return Lists{}, nil, err
	}
	ofServices, err := r.events(ctx, namespace, fields.Set{"involvedObject.kind": "Service"})
	if err != nil {
		return Lists{}, nil, err
	}
	var ofVolumes []corev1.Event
	for _, more := range []func() error{
		func() (err error) { l.Volumes, ofVolumes, err = r.waitingVolumes(ctx); return err },
		func() (err error) { l.Requests, err = r.requests(ctx); return err },
	} {
		err := more()
		switch {
		case apierrors.IsForbidden(err):
			unread = append(unread, err.Error())
		case err != nil:
			return Lists{}, nil, err
		}
	}
	l.Events, l.Now = slices.Concat(ofNodes, ofServices, ofVolumes), r.clock.Now()
	return l, unread, nil
}

// waitingVolumes reads the volumes that are not being deleted and have neither a zone nor a
// region. If there are any, it also reads the events about volumes.
func (r reader) waitingVolumes(ctx context.Context) ([]corev1.PersistentVolume, []corev1.Event, error) {
	all, err := r.volumes(ctx)
	if err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(all, func(v corev1.PersistentVolume) bool { return volumefact.LeftAlone(&v) != "" })
	if len(all) == 0 {
		return nil, nil, nil
	}
	events, err := r.events(ctx, metav1.NamespaceDefault, fields.Set{"involvedObject.kind": "PersistentVolume"})
	if err != nil {
		return nil, nil, err
	}
	return all, events, nil
}

func (r reader) nodes(ctx context.Context) (all []corev1.Node, err error) {
	list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return r.CoreV1().Nodes().List(ctx, o)
	}
	err = pager.New(list).EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		all = append(all, *o.(*corev1.Node))
		return nil
	})
	return all, err
}

// services returns the Services that need a load balancer, or might still have
// one.
func (r reader) services(ctx context.Context, namespace string) (all []corev1.Service, err error) {
	list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return r.CoreV1().Services(namespace).List(ctx, o)
	}
	err = pager.New(list).EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		if s := o.(*corev1.Service); hasBalancer(s) {
			all = append(all, *s)
		}
		return nil
	})
	return all, err
}

func (r reader) volumes(ctx context.Context) (all []corev1.PersistentVolume, err error) {
	list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return r.CoreV1().PersistentVolumes().List(ctx, o)
	}
	err = pager.New(list).EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		all = append(all, *o.(*corev1.PersistentVolume))
		return nil
	})
	return all, err
}

// requests returns the requests for serving certificates.
func (r reader) requests(ctx context.Context) (all []certificatesv1.CertificateSigningRequest, err error) {
	list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return r.CertificatesV1().CertificateSigningRequests().List(ctx, o)
	}
	of := fields.Set{"spec.signerName": certificatesv1.KubeletServingSignerName}
	err = pager.New(list).EachListItem(ctx, metav1.ListOptions{FieldSelector: of.String()}, func(o runtime.Object) error {
		all = append(all, *o.(*certificatesv1.CertificateSigningRequest))
		return nil
	})
	return all, err
}

// keys returns the keys of the objects of a kind, for completion. It returns none if the
// API server does not answer.
func (r reader) keys(ctx context.Context, kind string) (all []string) {
	switch kind {
	case kindNode, kindRoute:
		nodes, _ := r.nodes(ctx)
		for _, n := range nodes {
			if kind == kindNode {
				all = append(all, n.Name)
				continue
			}
			all = append(all, n.Spec.PodCIDRs...)
		}
	case kindService:
		services, _ := r.services(ctx, metav1.NamespaceAll)
		for _, s := range services {
			all = append(all, s.Namespace+"/"+s.Name)
		}
	case kindVolume:
		volumes, _ := r.volumes(ctx)
		for _, v := range volumes {
			all = append(all, v.Name)
		}
	case kindRequest:
		requests, _ := r.requests(ctx)
		for _, q := range requests {
			all = append(all, q.Name)
		}
	}
	return all
}

// eventsAbout returns the events about one object.
func (r reader) eventsAbout(ctx context.Context, namespace, kind, name string) ([]corev1.Event, error) {
	return r.events(ctx, namespace, fields.Set{"involvedObject.kind": kind, "involvedObject.name": name})
}

// eventsOfRequest returns the events about the Node that has made the request.
func (r reader) eventsOfRequest(ctx context.Context, q *certificatesv1.CertificateSigningRequest) ([]corev1.Event, error) {
	node := requestfact.RequesterOf(q)
	if node == "" {
		return nil, nil
	}
	return r.eventsAbout(ctx, metav1.NamespaceDefault, "Node", node)
}

func (r reader) events(ctx context.Context, namespace string, of fields.Set) (all []corev1.Event, err error) {
	list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return r.CoreV1().Events(namespace).List(ctx, o)
	}
	err = pager.New(list).EachListItem(ctx, metav1.ListOptions{FieldSelector: of.String()}, func(o runtime.Object) error {
		all = append(all, *o.(*corev1.Event))
		return nil
	})
	return all, err
}

// daemon reads the data about the daemon. If it cannot read the Lease, Unread has the
// reason. That is not an error, because an answer is useful without the Lease.
func (r reader) daemon(ctx context.Context) DaemonView {
	v := DaemonView{Name: r.lease}
	namespace, name := split(r.lease)
	lease, err := r.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		v.Lease = lease
	case !apierrors.IsNotFound(err):
		v.Unread = fmt.Sprintf("Whether a daemon works is not known, because the Lease %s cannot be read: %v", r.lease, err)
	}
	if v.Events, err = r.eventsAbout(ctx, namespace, "Lease", name); err != nil {
		v.Events = nil // An answer does not need these events. The Lease says more.
	}
	return v
}
