package explain

import (
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
	"github.com/fairlead-k8s/fairlead/internal/controller/volumefact"
)

// Lists has the objects of a cluster that might wait.
type Lists struct {
	Nodes    []corev1.Node
	Services []corev1.Service
	Volumes  []corev1.PersistentVolume
	Requests []certificatesv1.CertificateSigningRequest
	Events   []corev1.Event // about any of these objects
	Now      time.Time
}

// WaitingIn returns the objects that wait. The object that has waited longest
// comes first.
func (all Reasons) WaitingIn(l Lists, d DaemonView) Waiting { return all.Waiting(l.views(), d, l.Now) }

// views returns a View of each object that might wait. These are all Nodes, the Services
// that need a load balancer or might still have one, and the volumes and requests that the
// daemon does not leave alone.
func (l Lists) views() (views []View) {
	byNode, byService, byVolume := l.byObject("Node"), l.byObject("Service"), l.byObject("PersistentVolume")
	for i := range l.Nodes {
		n := &l.Nodes[i]
		views = append(views, View{Object: identified(Object{Kind: kindNode, Key: n.Name}, n), Node: n, Events: byNode["/"+n.Name]})
	}
	for i := range l.Services {
		s := &l.Services[i]
		if key := s.Namespace + "/" + s.Name; hasBalancer(s) {
			views = append(views, View{Object: identified(Object{Kind: kindService, Key: key}, s), Service: s, Events: byService[key]})
		}
	}
	for i := range l.Volumes {
		if v := &l.Volumes[i]; volumefact.LeftAlone(v) == "" {
			views = append(views, View{Object: identified(Object{Kind: kindVolume, Key: v.Name}, v), Volume: v, Events: byVolume["/"+v.Name]})
		}
	}
	for i := range l.Requests {
		if q := &l.Requests[i]; requestfact.LeftAlone(q, l.Now) == "" {
			views = append(views, View{Object: identified(Object{Kind: kindRequest, Key: q.Name}, q), Request: q, Events: byNode["/"+requestfact.RequesterOf(q)]})
		}
	}
	for i := range views {
		views[i].Now = l.Now
	}
	return views
}

// byObject returns the events about objects of a kind. The keys are
// NAMESPACE/NAME.
func (l Lists) byObject(kind string) map[string][]corev1.Event {
	all := map[string][]corev1.Event{}
	for i := range l.Events {
		if o := &l.Events[i].InvolvedObject; o.Kind == kind {
			key := o.Namespace + "/" + o.Name
			all[key] = append(all[key], l.Events[i])
		}
	}
	return all
}

// hasBalancer reports whether the Service needs a load balancer, or might still have
// one.
func hasBalancer(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer || slices.Contains(s.Finalizers, mark.ServiceFinalizer)
}
