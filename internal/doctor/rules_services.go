package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/inspect"
)

// recent is the maximum age of an event that counts.
const recent = time.Hour

func serviceChecks() []Check {
	return []Check{
		{
			ID: "FL601", Category: OfServices, Level: Error, Title: "A Service waits for its load balancer",
			Why:   "Nobody outside the cluster can reach it. The condition `LoadBalancerProvisioning` or the newest event has the cause.",
			Looks: "Services of type LoadBalancer without an address, and for how long.",
			Fix:   "kubectl -n {namespace} describe service {name}",
			Needs: append([]Source{Services, Events}, managers...), find: withoutAddress,
		},
		{
			ID: "FL602", Category: OfServices, Level: Error, Title: "Two controllers write the status of one Service",
			Why:   "Each overwrites the other's address. Clients sometimes reach one load balancer, and sometimes the other.",
			Looks: "The event `LoadBalancerStatusContested` in the last hour.",
			Fix:   "kubectl -n {namespace} get service {name} -o yaml --show-managed-fields # then give it a spec.loadBalancerClass",
			Needs: []Source{Events}, find: contested,
		},
		{
			ID: "FL603", Category: OfServices, Level: Error, Title: "No manager serves a Service's load balancer class",
			Why:   "The class cannot be changed while the type is LoadBalancer, so the Service waits until a controller serves it.",
			Looks: "`spec.loadBalancerClass` of Services without an address, and `--load-balancer-class` of the managers. Controllers of other vendors are not known to doctor: it reports a Service that waits for one of them, too.",
			Fix:   "kubectl -n {namespace} get service {name} -o yaml # then start the controller of this class, or create the Service again with another class",
			Needs: append([]Source{Services}, managers...), find: unservedClass, cannot: withoutWorkload,
		},
		{
			ID: "FL604", Category: OfServices, Level: Error, Title: "A finalizer holds the deletion of a Service",
			Why:   "The load balancer is not deleted, or no controller removes the finalizer.",
			Looks: "Services that are being deleted and have the finalizer `" + mark.ServiceFinalizer + "`.",
			Fix:   "kubectl -n {namespace} describe service {name}",
			Needs: []Source{Services}, find: heldDeletion,
		},
		{
			ID: "FL605", Category: OfServices, Level: Error, Title: "No node is behind a load balancer",
			Why:   "The load balancer has an address, but sends traffic to no node.",
			Looks: "The condition `LoadBalancerServing` with the reason `NoNodes`.",
			Fix:   "kubectl get nodes -L node.kubernetes.io/exclude-from-external-load-balancers",
			Needs: []Source{Services}, find: noBackends,
		},
		{
			ID: "FL606", Category: OfServices, Level: Warning, Title: "A Service with externalTrafficPolicy Local has no ready endpoint",
			Why:   "Load balancers send the traffic of such a Service only to nodes that have a ready endpoint of it. No node has one.",
			Looks: fmt.Sprintf("The EndpointSlices of such Services, for at most %d of them.", mostSlices),
			Fix:   "kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name={name}",
			Needs: []Source{Services, Slices}, find: noLocalEndpoint,
		},
	}
}

func serviceObject(s *corev1.Service) string { return "service/" + s.Namespace + "/" + s.Name }

func conditionOf(s *corev1.Service, kind string) *metav1.Condition {
	for i := range s.Status.Conditions {
		if c := &s.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}

// eachWithoutAddress calls f for each Service that has waited too long for an address.
// class is the load balancer class of the Service.
func (v *View) eachWithoutAddress(f func(s *corev1.Service, class string)) {
	for i := range v.Services {
		s := &v.Services[i]
		if s.Spec.Type != corev1.ServiceTypeLoadBalancer || s.DeletionTimestamp != nil || len(s.Status.LoadBalancer.Ingress) > 0 || !v.isOld(s.CreationTimestamp.Time) {
			continue
		}
		class := ""
		if s.Spec.LoadBalancerClass != nil {
			class = *s.Spec.LoadBalancerClass
		}
		f(s, class)
	}
}

func (v *View) isServed(class string) bool {
	return slices.ContainsFunc(v.Managers(), func(m Manager) bool { return m.serves(class) })
}

func withoutAddress(v *View) (all []Finding) {
	v.eachWithoutAddress(func(s *corev1.Service, class string) {
		if known := len(v.Managers()) > 0; known && !v.isServed(class) || !known && class != "" {
			return // FL603 reports it.
		}
		cause := "No condition and no event says why."
		if e := v.lastWarning("Service", s.Namespace, s.Name); e != nil {
			cause = quoted(e)
		}
		if c := conditionOf(s, mark.ServiceProvisioning); c != nil {
			if c.Reason == cloudDenied {
				return // FL501 reports the refusal.
			}
			cause = c.Reason + ": " + c.Message
		}
		if c := conditionOf(s, mark.ServiceServing); c != nil && c.Reason == "NoNodes" {
			return // FL605 reports it.
		}
		all = append(all, Finding{Object: serviceObject(s), Message: fmt.Sprintf("It has had no address for %s. %s", v.since(s.CreationTimestamp.Time), cause)})
	})
	return all
}

// lastWarning returns the newest warning of a cloud-controller-manager about an object.
// If there is none, it returns the newest warning of others. If there is none either, it
// returns nil.
func (v *View) lastWarning(kind, namespace, name string) *corev1.Event {
	var last *corev1.Event
	for i := range v.Events {
		e := &v.Events[i]
		o := e.InvolvedObject
		if e.Type == corev1.EventTypeWarning && o.Kind == kind && o.Namespace == namespace && o.Name == name && (last == nil || countsMore(e, last)) {
			last = e
		}
	}
	return last
}

// quoted returns the text of a warning. If it is not a cloud-controller-manager's, the text
// says whose it is.
func quoted(e *corev1.Event) string {
	text := e.Reason + ": " + e.Message
	if inspect.IsDaemons(e) {
		return text
	}
	return fmt.Sprintf("No cloud-controller-manager says why. A warning by %s: %s", cmp.Or(inspect.Source(e), "an unknown component"), text)
}

func countsMore(e, than *corev1.Event) bool {
	if ours := inspect.IsDaemons(e); ours != inspect.IsDaemons(than) {
		return ours
	}
	return eventTime(e).After(eventTime(than))
}

// eventTime returns the last time at which the event happened.
func eventTime(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	default:
		return e.CreationTimestamp.Time
	}
}

// recently returns the daemon's events of the last hour with this reason. For each
// object, it returns only the newest one.
func (v *View) recently(reason string) []*corev1.Event {
	var all []*corev1.Event
	for i := range v.Events {
		e := &v.Events[i]
		if e.Reason != reason || !inspect.IsDaemons(e) || v.Now.Sub(eventTime(e)) > recent {
			continue
		}
		same := func(o *corev1.Event) bool {
			a, b := o.InvolvedObject, e.InvolvedObject
			return a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name
		}
		switch at := slices.IndexFunc(all, same); {
		case at < 0:
			all = append(all, e)
		case eventTime(e).After(eventTime(all[at])):
			all[at] = e
		}
	}
	return all
}

func contested(v *View) (all []Finding) {
	for _, e := range v.recently("LoadBalancerStatusContested") {
		all = append(all, Finding{Object: "service/" + e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name, Message: e.Message})
	}
	return all
}

func withoutWorkload(v *View) string {
	if slices.ContainsFunc(v.Managers(), func(m Manager) bool { return m.Workload == nil }) || len(v.Managers()) == 0 {
		return "the flags of a manager are not visible: it runs outside the cluster's workloads"
	}
	return ""
}

func unservedClass(v *View) (all []Finding) {
	v.eachWithoutAddress(func(s *corev1.Service, class string) {
		if v.isServed(class) {
			return
		}
		what := "It has no class, and no manager serves Services without one."
		if class != "" {
			what = fmt.Sprintf("No manager serves the class %q.", class)
		}
		all = append(all, Finding{Object: serviceObject(s), Message: what})
	})
	return all
}

func heldDeletion(v *View) (all []Finding) {
	for i := range v.Services {
		s := &v.Services[i]
		if s.DeletionTimestamp == nil || !slices.Contains(s.Finalizers, mark.ServiceFinalizer) || !v.isOld(s.DeletionTimestamp.Time) {
			continue
		}
		cause := "No condition says why."
		for _, kind := range []string{mark.ServiceProvisioning, mark.ServiceCleanupHeld} {
			if c := conditionOf(s, kind); c != nil {
				cause = c.Reason + ": " + c.Message
			}
		}
		all = append(all, Finding{Object: serviceObject(s), Message: fmt.Sprintf("It has been in deletion for %s. %s", v.since(s.DeletionTimestamp.Time), cause)})
	}
	return all
}

func noBackends(v *View) (all []Finding) {
	for i := range v.Services {
		s := &v.Services[i]
		if c := conditionOf(s, mark.ServiceServing); c != nil && c.Reason == "NoNodes" && v.isOld(c.LastTransitionTime.Time) {
			all = append(all, Finding{Object: serviceObject(s), Message: c.Message})
		}
	}
	return all
}

func noLocalEndpoint(v *View) (all []Finding) {
	for i := range v.Services {
		s := &v.Services[i]
		slicesOf, read := v.Slices[s.Namespace+"/"+s.Name]
		if !read || !keepsTrafficLocal(s) || !v.isOld(s.CreationTimestamp.Time) {
			continue
		}
		ready := false
		for _, slice := range slicesOf {
			for _, e := range slice.Endpoints {
				ready = ready || e.Conditions.Ready == nil || *e.Conditions.Ready
			}
		}
		if !ready {
			all = append(all, Finding{Object: serviceObject(s), Message: "externalTrafficPolicy is Local, and no endpoint is ready."})
		}
	}
	return all
}

// keepsTrafficLocal reports whether the Service has a load balancer that must send
// traffic only to nodes with endpoints.
func keepsTrafficLocal(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.DeletionTimestamp == nil && s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}
