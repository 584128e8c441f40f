package doctor

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// Reasons of conditions that have their own checks.
const (
	instanceNotFound = "InstanceNotFound"
	cloudDenied      = "CloudDenied"
)

func nodeChecks() []Check { return slices.Concat(initialisationChecks(), initialisedChecks()) }

// initialisationChecks returns the checks for Nodes that are not initialised, or
// not initialised correctly.
func initialisationChecks() []Check {
	return []Check{
		{
			ID: "FL201", Level: Warning, Needs: []cluster.Source{cluster.Nodes}, find: neverInitialised,
			Title: "A Node was never initialised, and does not wait for initialisation",
			Why:   "Its kubelet runs without `--cloud-provider=external`, so it has no taint, provider ID, zone or type.",
			Fix:   "kubectl delete node {name} # after its kubelet has --cloud-provider=external; or, if no cloud has this machine: kubectl label node {name} " + ownership.LabelExclude + "=",
		},
		{
			ID: "FL202", Level: Error, Needs: andManagers(cluster.Nodes), find: nobodyInitialises,
			Title: "Nothing can initialise Nodes that wait",
			Why:   "There is no cloud-controller-manager, or its Pods do not tolerate the taint of Nodes that wait.",
			Fix:   "kubectl -n {namespace} get {kind} {name} -o yaml # docs/guides/install.md has the tolerations",
			FixOf: map[string]string{"": "kubectl get deployments,daemonsets,pods --all-namespaces # docs/guides/install.md installs a manager if there is none"},
		},
		{
			ID: "FL203", Level: Error, Needs: andManagers(cluster.Nodes), find: ofNodes(waitsLong),
			Title: "A Node waits to be initialised",
			Why:   "No ordinary Pod is scheduled to it. The condition `CloudInitialized` has the cause.",
			Fix:   "kubectl describe node {name}",
		},
		{
			ID: "FL204", Level: Error, Needs: []cluster.Source{cluster.Nodes}, find: sharedID,
			Title: "Two Nodes have one provider ID",
			Why:   "One machine has a copy of the other's disk, or one Node is an old name. What happens to the instance affects both.",
			Fix:   "kubectl delete node {name} # if this is the wrong one; then let its kubelet register again",
		},
		{
			ID: "FL205", Level: Error, Needs: []cluster.Source{cluster.Nodes}, find: ofNodes(unknownToCloud),
			Title: "The cloud does not know a Node that waits",
			Why:   "The Node and its instance have different names, or the credentials are for another account.",
			Fix:   "kubectl describe node {name} # then start its kubelet with --hostname-override=<name of the instance>, or rename the instance",
		},
	}
}

// initialisedChecks returns all other checks for Nodes.
func initialisedChecks() []Check {
	return []Check{
		{
			ID: "FL206", Level: Warning, Needs: andManagers(cluster.Nodes), find: foreignID,
			Title: "A Node has a provider ID of another cloud",
			Why:   "The kubelet or k3s may have set it. Fairlead leaves such a Node alone, and a provider ID cannot be changed.",
			Fix:   "kubectl label node {name} " + ownership.LabelExclude + "= # or delete the Node and register it again without that provider ID",
		},
		{
			ID: "FL207", Level: Warning, Needs: []cluster.Source{cluster.Requests}, find: pendingCertificates,
			Title: "A kubelet's request for a serving certificate waits",
			Why:   "Without the certificate, the API server cannot verify the kubelet: `kubectl logs` and metrics fail.",
			Fix:   "kubectl describe csr {name} # docs/guides/serving-certificates.md says how to approve them by the cloud's data",
		},
		{
			ID: "FL208", Level: Error, Needs: andManagers(cluster.Nodes), find: ofNodes(noPodCIDR),
			Title: "A Node has no pod CIDR, and routes are on",
			Why:   "There is no route to its pods, and its network stays unavailable.",
			Fix:   "kubectl get node {name} -o jsonpath='{.spec.podCIDR}' # then see docs/guides/node-cidrs.md, or set --configure-cloud-routes=false",
		},
		{
			ID: "FL209", Level: Warning, Needs: []cluster.Source{cluster.Nodes}, find: ofNodes(oldLabels),
			Title: "A Node has only the old label for its zone",
			Why:   "Schedulers and volumes read `topology.kubernetes.io/zone`.",
			Fix:   "kubectl describe node {name} # a cloud-controller-manager that is newer than 1.17 writes both",
		},
		{
			ID: "FL210", Level: Warning, Needs: []cluster.Source{cluster.Nodes}, find: ofNodes(deletionHeld),
			Title: "A Node stays although the cloud does not know its instance",
			Why:   "A precondition of its deletion is not met. The condition `CloudInstanceMissing` says which.",
			Fix:   "kubectl describe node {name} # docs/guides/node-deletion.md explains each reason",
		},
	}
}

// waits reports whether the Node has yet to be initialised.
func waits(n *corev1.Node) bool { return nodefact.IsUninitialized(n) }

func neverInitialised(v *cluster.View) []Finding {
	hasCloud := slices.ContainsFunc(v.Nodes, func(n corev1.Node) bool { return n.Spec.ProviderID != "" })
	if !hasCloud && len(v.Managers()) == 0 {
		return nil
	}
	return ofNodes(func(v *cluster.View, n *corev1.Node) Finding {
		c := nodefact.Condition(n, mark.NodeInitialized)
		initialised := c != nil && c.Status == corev1.ConditionTrue // If there is no ID, type or zone, the provider offers none.
		described := n.Spec.ProviderID != "" || n.Labels[corev1.LabelInstanceTypeStable] != "" || n.Labels[corev1.LabelTopologyZone] != ""
		if initialised || described || waits(n) || !v.IsOld(n.CreationTimestamp.Time) {
			return Finding{}
		}
		return Finding{
			Message:  "It has no provider ID, zone or type, and no taint: its kubelet runs without --cloud-provider=external.",
			Evidence: writersOf(n),
		}
	})(v)
}

// writersOf returns the field managers that have written the Node.
func writersOf(n *corev1.Node) []string {
	seen := map[string]bool{}
	for _, m := range n.ManagedFields {
		seen["written by "+m.Manager] = true
	}
	return limited(slices.Sorted(maps.Keys(seen)))
}

func nobodyInitialises(v *cluster.View) []Finding {
	var names []string
	eachNode(v, func(n *corev1.Node) {
		if waits(n) {
			names = append(names, n.Name)
		}
	})
	if len(v.Managers()) == 0 && len(names) > 0 {
		f := found("%s the taint of Nodes that wait, and there is no cloud-controller-manager.", have(names))
		f.Evidence = limited(names)
		return []Finding{f}
	}
	return ofWorkloads(func(_ *cluster.View, _ cluster.Manager, w *cluster.Workload) Finding {
		if tolerates(w, corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}) {
			return Finding{}
		}
		return found("Its Pods do not tolerate node.cloudprovider.kubernetes.io/uninitialized, so they cannot start where every Node waits for them.")
	})(v)
}

// tolerates reports whether the workload's Pods can be scheduled to a node with the
// taint. It returns true for a static Pod, because no scheduler places static Pods.
func tolerates(w *cluster.Workload, taint corev1.Taint) bool {
	return w.Kind == cluster.StaticPod || slices.ContainsFunc(w.Template.Tolerations, func(t corev1.Toleration) bool {
		return (t.Key == "" && t.Operator == corev1.TolerationOpExists || t.Key == taint.Key) &&
			(t.Effect == "" || t.Effect == taint.Effect) &&
			(t.Operator == corev1.TolerationOpExists || t.Value == taint.Value)
	})
}

// waiting returns the time at which the Node began to wait, and the condition that says
// why. If no condition says why, the condition is empty, and the Node has waited since
// its creation. The result long is false if the Node has not waited too long. A Node may
// wait a second time, because somebody can add the taint again.
func waiting(v *cluster.View, n *corev1.Node) (since time.Time, c *corev1.NodeCondition, long bool) {
	since, c = n.CreationTimestamp.Time, nodefact.Condition(n, mark.NodeInitialized)
	if c == nil || c.Status == corev1.ConditionTrue {
		c = &corev1.NodeCondition{}
	}
	if !c.LastTransitionTime.IsZero() {
		since = c.LastTransitionTime.Time
	}
	return since, c, waits(n) && v.IsOld(since)
}

func waitsLong(v *cluster.View, n *corev1.Node) Finding {
	since, c, long := waiting(v, n)
	if !long || len(v.Managers()) == 0 || c.Reason == instanceNotFound || c.Reason == cloudDenied {
		return Finding{} // FL202, FL205 or FL501 reports it.
	}
	cause := "No condition says why: its manager is not Fairlead, or has not looked at the Node yet."
	if c.Reason != "" {
		cause = c.Reason + ": " + c.Message
	}
	return found("It has waited for %s. %s", v.Since(since), cause)
}

func unknownToCloud(v *cluster.View, n *corev1.Node) Finding {
	since, c, long := waiting(v, n)
	if !long || c.Reason != instanceNotFound {
		return Finding{}
	}
	return found("It has waited for %s. %s", v.Since(since), c.Message)
}

func sharedID(v *cluster.View) (all []Finding) {
	holders := map[string][]string{}
	eachNode(v, func(n *corev1.Node) {
		if n.Spec.ProviderID != "" {
			holders[n.Spec.ProviderID] = append(holders[n.Spec.ProviderID], n.Name)
		}
	})
	for _, id := range slices.Sorted(maps.Keys(holders)) {
		if names := holders[id]; len(names) > 1 {
			slices.Sort(names)
			f := found("Nodes %s have the provider ID %q.", strings.Join(limited(names), ", "), id)
			f.Object, f.others = "node/"+names[len(names)-1], names
			all = append(all, f)
		}
	}
	return all
}

func foreignID(v *cluster.View) []Finding {
	counts, declared := map[string]int{}, map[string]bool{"": true}
	eachNode(v, func(n *corev1.Node) {
		if s := nodefact.Scheme(n); s != "" {
			counts[s]++
		}
	})
	for _, m := range v.Managers() {
		declared[m.Flags["cloud-provider"]] = true
		for _, s := range m.Flags.List("own-provider-id-schemes") {
			declared[s] = true
		}
	}
	// The scheme of a provider can differ from its name. So the scheme that most Nodes
	// have counts as declared, too.
	if len(counts) > 0 {
		declared[slices.MaxFunc(slices.Sorted(maps.Keys(counts)), func(a, b string) int { return cmp.Compare(counts[a], counts[b]) })] = true
	}
	return ofNodes(func(_ *cluster.View, n *corev1.Node) Finding {
		if declared[nodefact.Scheme(n)] {
			return Finding{}
		}
		f := found("Its provider ID is %q, which does not belong to the cloud of the other Nodes.", n.Spec.ProviderID)
		f.Evidence = writersOf(n)
		return f
	})(v)
}

func pendingCertificates(v *cluster.View) (all []Finding) {
	for i := range v.Requests {
		if r := &v.Requests[i]; len(r.Status.Conditions) == 0 && v.IsOld(r.CreationTimestamp.Time) {
			all = add(all, "csr/"+r.Name, found("The request of %s has waited for %s.", r.Spec.Username, v.Since(r.CreationTimestamp.Time)))
		}
	}
	return all
}

func noPodCIDR(v *cluster.View, n *corev1.Node) Finding {
	if n.Spec.PodCIDR != "" || waits(n) || !v.IsOld(n.CreationTimestamp.Time) || !slices.ContainsFunc(v.Managers(), cluster.Manager.Routes) {
		return Finding{}
	}
	return found("It has no pod CIDR, so there is no route to its pods.")
}

func oldLabels(_ *cluster.View, n *corev1.Node) Finding {
	old := n.Labels[corev1.LabelFailureDomainBetaZone]
	if old == "" || n.Labels[corev1.LabelTopologyZone] != "" {
		return Finding{}
	}
	return found("It has the label %s=%s and not %s.", corev1.LabelFailureDomainBetaZone, old, corev1.LabelTopologyZone)
}

func deletionHeld(v *cluster.View, n *corev1.Node) Finding {
	c := nodefact.Condition(n, mark.InstanceMissing)
	if c == nil || c.Status != corev1.ConditionTrue || c.Reason == cloudDenied || !v.IsOld(c.LastTransitionTime.Time) {
		return Finding{}
	}
	f := found("%s: %s", c.Reason, c.Message)
	f.Evidence = []string{"for " + v.Since(c.LastTransitionTime.Time)}
	return f
}
