package doctor

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
)

func serviceChecks() []Check {
	return []Check{
		{
			ID: "FL601", Level: Error, Needs: andManagers(cluster.Services, cluster.Events), find: ofServices(withoutAddress),
			Title: "A Service waits for its load balancer",
			Why:   "Nobody outside the cluster can reach it. The condition `LoadBalancerProvisioning` or the newest event has the cause.",
			Fix:   "kubectl -n {namespace} describe service {name}",
		},
		{
			ID: "FL602", Level: Error, Needs: []cluster.Source{cluster.Events}, find: contested,
			Title: "Two controllers write the status of one Service",
			Why:   "Each overwrites the other's address, so clients reach one load balancer or the other.",
			Fix:   "kubectl -n {namespace} get service {name} -o yaml --show-managed-fields # then give it a spec.loadBalancerClass",
		},
		{
			ID: "FL603", Level: Error, Needs: andManagers(cluster.Services), find: ofServices(unservedClass), cannot: withoutWorkload,
			Title: "No manager serves a Service's load balancer class",
			Why:   "It waits until a controller serves the class. Controllers of other vendors are not known.",
			Fix:   "kubectl -n {namespace} get service {name} -o yaml # then start the controller of this class, or create the Service again with another class",
		},
		{
			ID: "FL604", Level: Error, Needs: []cluster.Source{cluster.Services}, find: ofServices(heldDeletion),
			Title: "A finalizer holds the deletion of a Service",
			Why:   "The load balancer is not deleted, or no controller removes `" + mark.ServiceFinalizer + "`.",
			Fix:   "kubectl -n {namespace} describe service {name}",
		},
		{
			ID: "FL605", Level: Error, Needs: []cluster.Source{cluster.Services}, find: ofServices(noBackends),
			Title: "No node is behind a load balancer",
			Why:   "The load balancer has an address, but sends traffic to no node.",
			Fix:   "kubectl get nodes -L node.kubernetes.io/exclude-from-external-load-balancers",
		},
		{
			ID: "FL606", Level: Warning, Needs: []cluster.Source{cluster.Services, cluster.Slices}, find: ofServices(noLocalEndpoint),
			Title: "A Service with externalTrafficPolicy Local has no ready endpoint",
			Why:   fmt.Sprintf("Traffic goes only to nodes with a ready endpoint. At most %d Services are looked at.", cluster.MostSlices),
			Fix:   "kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name={name}",
		},
	}
}

// lacksAddress reports whether the Service has waited too long for an address.
func lacksAddress(v *cluster.View, s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.DeletionTimestamp == nil && len(s.Status.LoadBalancer.Ingress) == 0 && v.IsOld(s.CreationTimestamp.Time)
}

// isServed reports whether a manager might serve the Service's class.
func isServed(v *cluster.View, s *corev1.Service) bool {
	return slices.ContainsFunc(v.Managers(), func(m cluster.Manager) bool { return m.Serves(ptr.Deref(s.Spec.LoadBalancerClass, "")) })
}

func withoutAddress(v *cluster.View, s *corev1.Service) Finding {
	if !lacksAddress(v, s) {
		return Finding{}
	}
	if known := len(v.Managers()) > 0; known && !isServed(v, s) || !known && ptr.Deref(s.Spec.LoadBalancerClass, "") != "" {
		return Finding{} // FL603 reports it.
	}
	c := meta.FindStatusCondition(s.Status.Conditions, mark.ServiceProvisioning)
	serving := meta.FindStatusCondition(s.Status.Conditions, mark.ServiceServing)
	if c != nil && c.Reason == cloudDenied || serving != nil && serving.Reason == noNodes {
		return Finding{} // FL501 or FL605 reports it.
	}
	cause := "No condition and no event says why."
	if c != nil {
		cause = c.Reason + ": " + c.Message
	} else if e := lastWarning(v, s); e != nil {
		cause = quoted(e)
	}
	return found("It has had no address for %s. %s", v.Since(s.CreationTimestamp.Time), cause)
}

const noNodes = "NoNodes"

// lastWarning returns the newest warning of a cloud-controller-manager about a Service.
// If there is none, it returns the newest warning of others. If there is none either, it
// returns nil.
func lastWarning(v *cluster.View, s *corev1.Service) (last *corev1.Event) {
	about := &corev1.ObjectReference{Kind: "Service", Namespace: s.Namespace, Name: s.Name}
	for i := range v.Events {
		if e := &v.Events[i]; e.Type == corev1.EventTypeWarning && isAbout(e, about) && (last == nil || countsMore(e, last)) {
			last = e
		}
	}
	return last
}

func isAbout(e *corev1.Event, o *corev1.ObjectReference) bool {
	return e.InvolvedObject.Kind == o.Kind && e.InvolvedObject.Namespace == o.Namespace && e.InvolvedObject.Name == o.Name
}

func countsMore(e, than *corev1.Event) bool {
	if ours := cluster.IsDaemons(e); ours != cluster.IsDaemons(than) {
		return ours
	}
	return cluster.LastTime(e).After(cluster.LastTime(than))
}

// quoted returns the text of a warning. If it is not a cloud-controller-manager's, the text
// says whose it is.
func quoted(e *corev1.Event) string {
	text := e.Reason + ": " + e.Message
	if cluster.IsDaemons(e) {
		return text
	}
	return fmt.Sprintf("No cloud-controller-manager says why. A warning by %s: %s", cmp.Or(cluster.SourceOf(e), "an unknown component"), text)
}

// recently returns the daemon's events of the last hour with this reason. For each
// object, it returns only the newest one.
func recently(v *cluster.View, reason string) (all []*corev1.Event) {
	for i := range v.Events {
		e := &v.Events[i]
		if e.Reason != reason || !cluster.IsDaemons(e) || v.Now.Sub(cluster.LastTime(e)) > cluster.Recent {
			continue
		}
		at := slices.IndexFunc(all, func(o *corev1.Event) bool { return isAbout(o, &e.InvolvedObject) })
		switch {
		case at < 0:
			all = append(all, e)
		case cluster.LastTime(e).After(cluster.LastTime(all[at])):
			all[at] = e
		}
	}
	return all
}

func contested(v *cluster.View) (all []Finding) {
	for _, e := range recently(v, "LoadBalancerStatusContested") {
		all = append(all, Finding{Object: "service/" + e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name, Message: e.Message})
	}
	return all
}

func withoutWorkload(v *cluster.View) string {
	if slices.ContainsFunc(v.Managers(), func(m cluster.Manager) bool { return m.Workload == nil }) || len(v.Managers()) == 0 {
		return "the flags of a manager are not visible: it runs outside the cluster's workloads"
	}
	return ""
}

func unservedClass(v *cluster.View, s *corev1.Service) Finding {
	switch class := ptr.Deref(s.Spec.LoadBalancerClass, ""); {
	case !lacksAddress(v, s) || isServed(v, s):
		return Finding{}
	case class == "":
		return found("It has no class, and no manager serves Services without one.")
	default:
		return found("No manager serves the class %q.", class)
	}
}

func heldDeletion(v *cluster.View, s *corev1.Service) Finding {
	if s.DeletionTimestamp == nil || !slices.Contains(s.Finalizers, mark.ServiceFinalizer) || !v.IsOld(s.DeletionTimestamp.Time) {
		return Finding{}
	}
	cause := "No condition says why."
	for _, kind := range []string{mark.ServiceProvisioning, mark.ServiceCleanupHeld} {
		if c := meta.FindStatusCondition(s.Status.Conditions, kind); c != nil {
			cause = c.Reason + ": " + c.Message
		}
	}
	return found("It has been in deletion for %s. %s", v.Since(s.DeletionTimestamp.Time), cause)
}

func noBackends(v *cluster.View, s *corev1.Service) Finding {
	c := meta.FindStatusCondition(s.Status.Conditions, mark.ServiceServing)
	if c == nil || c.Reason != noNodes || !v.IsOld(c.LastTransitionTime.Time) {
		return Finding{}
	}
	return Finding{Message: c.Message}
}

func noLocalEndpoint(v *cluster.View, s *corev1.Service) Finding {
	all, read := v.Slices[cluster.NameOf(s)]
	if !read || !v.IsOld(s.CreationTimestamp.Time) {
		return Finding{}
	}
	for _, slice := range all {
		if slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Ready, true) }) {
			return Finding{}
		}
	}
	return found("externalTrafficPolicy is Local, and no endpoint is ready.")
}
