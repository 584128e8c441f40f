package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

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
			ID: "FL201", Category: OfNodes, Level: Warning, Title: "A Node was never initialised, and does not wait for initialisation",
			Why:   "Its kubelet was started without `--cloud-provider=external`. So the Node never had the taint, and has no provider ID, zone or type.",
			Looks: "The Node's taints, provider ID and labels. Kubelets are not asked: that would need the right `nodes/proxy`, which nobody should get for this.",
			Fix:   "kubectl delete node {name} # after its kubelet has --cloud-provider=external; or, if no cloud has this machine: kubectl label node {name} " + ownership.LabelExclude + "=",
			Needs: []Source{Nodes}, find: neverInitialised,
		},
		{
			ID: "FL202", Category: OfNodes, Level: Error, Title: "Nothing can initialise Nodes that wait",
			Why:   "There is no cloud-controller-manager, or its Pods do not tolerate the taint of Nodes that wait. No Pod is scheduled to these Nodes.",
			Looks: "The taint `node.cloudprovider.kubernetes.io/uninitialized`, the Leases, and the workloads with their tolerations.",
			Fix:   "kubectl -n {namespace} get {kind} {name} -o yaml # docs/guides/install.md has the tolerations",
			FixOf: map[string]string{"": "kubectl get deployments,daemonsets,pods --all-namespaces # docs/guides/install.md installs a manager if there is none"},
			Needs: append([]Source{Nodes}, managers...), find: nobodyInitialises,
		},
		{
			ID: "FL203", Category: OfNodes, Level: Error, Title: "A Node waits to be initialised",
			Why:   "No ordinary Pod is scheduled to it. The condition `CloudInitialized` has the cause.",
			Looks: "The taint, the condition, and for how long the Node has waited.",
			Fix:   "kubectl describe node {name}",
			Needs: append([]Source{Nodes}, managers...), find: waitsLong,
		},
		{
			ID: "FL204", Category: OfNodes, Level: Error, Title: "Two Nodes have one provider ID",
			Why:   "Probably one machine has a copy of the other's disk, or one Node has an old name of the same machine. What happens to the instance affects both Nodes.",
			Looks: "`spec.providerID` of all Nodes.",
			Fix:   "kubectl delete node {name} # if this is the wrong one; then let its kubelet register again",
			Needs: []Source{Nodes}, find: sharedID,
		},
		{
			ID: "FL205", Category: OfNodes, Level: Error, Title: "The cloud does not know a Node that waits",
			Why:   "The Node and its instance have different names, or the credentials are for another account.",
			Looks: "The condition `CloudInitialized` with the reason `InstanceNotFound`.",
			Fix:   "kubectl describe node {name} # then start its kubelet with --hostname-override=<name of the instance>, or rename the instance",
			Needs: []Source{Nodes}, find: unknownToCloud,
		},
	}
}

// initialisedChecks returns all other checks for Nodes.
func initialisedChecks() []Check {
	return []Check{
		{
			ID: "FL206", Category: OfNodes, Level: Warning, Title: "A Node has a provider ID of another cloud",
			Why:   "Something else has set it, such as a flag of the kubelet or the manager that is built into k3s. Fairlead leaves such a Node alone, and a provider ID cannot be changed.",
			Looks: "The schemes of all provider IDs, and `--own-provider-id-schemes`.",
			Fix:   "kubectl label node {name} " + ownership.LabelExclude + "= # or delete the Node and register it again without that provider ID",
			Needs: append([]Source{Nodes}, managers...), find: foreignID,
		},
		{
			ID: "FL207", Category: OfNodes, Level: Warning, Title: "A kubelet's request for a serving certificate waits",
			Why:   "Without the certificate, the API server cannot verify the kubelet: `kubectl logs` and metrics fail.",
			Looks: "CertificateSigningRequests for the signer `kubernetes.io/kubelet-serving`.",
			Fix:   "kubectl describe csr {name} # docs/guides/serving-certificates.md says how to approve them by the cloud's data",
			Needs: []Source{Requests}, find: pendingCertificates,
		},
		{
			ID: "FL208", Category: OfNodes, Level: Error, Title: "A Node has no pod CIDR, and routes are on",
			Why:   "There is no route to its pods, and its network stays unavailable.",
			Looks: "`spec.podCIDR`, and the daemon's flags for routes.",
			Fix:   "kubectl get node {name} -o jsonpath='{.spec.podCIDR}' # then see docs/guides/node-cidrs.md, or set --configure-cloud-routes=false",
			Needs: append([]Source{Nodes}, managers...), find: noPodCIDR,
		},
		{
			ID: "FL209", Category: OfNodes, Level: Warning, Title: "A Node has only the old label for its zone",
			Why:   "Schedulers and volumes read `topology.kubernetes.io/zone`. `failure-domain.beta.kubernetes.io/zone` is deprecated since 1.17.",
			Looks: "The labels of all Nodes.",
			Fix:   "kubectl describe node {name} # a cloud-controller-manager that is newer than 1.17 writes both",
			Needs: []Source{Nodes}, find: oldLabels,
		},
		{
			ID: "FL210", Category: OfNodes, Level: Warning, Title: "A Node stays although the cloud does not know its instance",
			Why:   "Fairlead deletes a Node only if all preconditions are met, and one is not met. The condition `CloudInstanceMissing` says which.",
			Looks: "That condition, and for how long the Node has had it.",
			Fix:   "kubectl describe node {name} # docs/guides/node-deletion.md explains each reason",
			Needs: []Source{Nodes}, find: deletionHeld,
		},
	}
}

// waits reports whether the Node has yet to be initialised.
func waits(n *corev1.Node) bool { return nodefact.IsUninitialized(n) }

// leftAlone reports whether a label keeps every manager off the Node.
func leftAlone(n *corev1.Node) bool {
	for _, key := range []string{ownership.LabelExclude, ownership.LabelExcludeRestricted} {
		if nodefact.HasLabel(n, key) {
			return true
		}
	}
	return n.Labels[ownership.LabelProvider] == "none" || n.Labels[ownership.LabelProviderRestricted] == "none"
}

// eachNode calls f for each Node that is not left alone.
func (v *View) eachNode(f func(*corev1.Node)) {
	for i := range v.Nodes {
		if !leftAlone(&v.Nodes[i]) {
			f(&v.Nodes[i])
		}
	}
}

func objectOf(n *corev1.Node) string { return "node/" + n.Name }

func neverInitialised(v *View) (all []Finding) {
	if len(v.Managers()) == 0 && !slices.ContainsFunc(v.Nodes, func(n corev1.Node) bool { return n.Spec.ProviderID != "" }) {
		return nil // This cluster has no cloud.
	}
	v.eachNode(func(n *corev1.Node) {
		if c := nodefact.Condition(n, mark.NodeInitialized); c != nil && c.Status == corev1.ConditionTrue {
			return // Fairlead has initialised the Node. If there is no ID, type or zone, the provider offers none.
		}
		typed := n.Labels[corev1.LabelInstanceTypeStable] != "" || n.Labels[corev1.LabelTopologyZone] != ""
		if waits(n) || n.Spec.ProviderID != "" || typed || !v.isOld(n.CreationTimestamp.Time) {
			return
		}
		all = append(all, Finding{
			Object: objectOf(n), Message: "It has no provider ID, zone or type, and no taint: its kubelet runs without --cloud-provider=external.",
			Evidence: writersOf(n),
		})
	})
	return all
}

// writersOf returns the field managers that have written the Node.
func writersOf(n *corev1.Node) []string {
	seen := map[string]bool{}
	for _, m := range n.ManagedFields {
		seen["written by "+m.Manager] = true
	}
	return limited(slices.Sorted(maps.Keys(seen)))
}

func nobodyInitialises(v *View) (all []Finding) {
	var names []string
	v.eachNode(func(n *corev1.Node) {
		if waits(n) {
			names = append(names, n.Name)
		}
	})
	known := v.Managers()
	if len(known) == 0 && len(names) > 0 {
		return []Finding{{Message: have(names, "Node") + " the taint of Nodes that wait, and there is no cloud-controller-manager.", Evidence: limited(names)}}
	}
	for _, m := range known {
		if m.Workload != nil && !tolerates(m.Workload, corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}) {
			all = append(all, Finding{Object: m.object(), Message: "Its Pods do not tolerate node.cloudprovider.kubernetes.io/uninitialized, so they cannot start where every Node waits for them."})
		}
	}
	return all
}

// tolerates reports whether the workload's Pods can be scheduled to a node with the
// taint. It returns true for a static Pod, because no scheduler places static Pods.
func tolerates(w *Workload, taint corev1.Taint) bool {
	return w.Kind == staticPod || slices.ContainsFunc(w.Template.Tolerations, func(t corev1.Toleration) bool {
		return (t.Key == "" && t.Operator == corev1.TolerationOpExists || t.Key == taint.Key) &&
			(t.Effect == "" || t.Effect == taint.Effect) &&
			(t.Operator == corev1.TolerationOpExists || t.Value == taint.Value)
	})
}

// waitSince returns the time at which the Node began to wait. If the Node has the
// condition about its initialisation, this is the time at which the condition changed:
// the Node may wait a second time, because somebody can add the taint again. Otherwise,
// it is the time of its creation.
func waitSince(n *corev1.Node) time.Time {
	if c := nodefact.Condition(n, mark.NodeInitialized); c != nil && c.Status != corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime.Time
	}
	return n.CreationTimestamp.Time
}

// eachWaiting calls f for each Node that has waited too long. f also gets the condition
// that says why the Node waits. If there is none, f gets an empty condition.
func (v *View) eachWaiting(f func(*corev1.Node, *corev1.NodeCondition)) {
	v.eachNode(func(n *corev1.Node) {
		if waits(n) && v.isOld(waitSince(n)) {
			c := nodefact.Condition(n, mark.NodeInitialized)
			if c == nil || c.Status == corev1.ConditionTrue {
				c = &corev1.NodeCondition{}
			}
			f(n, c)
		}
	})
}

func waitsLong(v *View) (all []Finding) {
	if len(v.Managers()) == 0 {
		return nil // FL202 reports the Nodes.
	}
	v.eachWaiting(func(n *corev1.Node, c *corev1.NodeCondition) {
		if c.Reason == instanceNotFound || c.Reason == cloudDenied {
			return // FL205 or FL501 reports it.
		}
		cause := "No condition says why: its manager is not Fairlead, or has not looked at the Node yet."
		if c.Reason != "" {
			cause = c.Reason + ": " + c.Message
		}
		all = append(all, Finding{Object: objectOf(n), Message: fmt.Sprintf("It has waited for %s. %s", v.since(waitSince(n)), cause)})
	})
	return all
}

// since returns the time from t to v.Now as a text.
func (v *View) since(t time.Time) string { return v.Now.Sub(t).Round(time.Second).String() }

func unknownToCloud(v *View) (all []Finding) {
	v.eachWaiting(func(n *corev1.Node, c *corev1.NodeCondition) {
		if c.Reason == instanceNotFound {
			all = append(all, Finding{Object: objectOf(n), Message: fmt.Sprintf("It has waited for %s. %s", v.since(waitSince(n)), c.Message)})
		}
	})
	return all
}

func sharedID(v *View) (all []Finding) {
	holders := map[string][]string{}
	v.eachNode(func(n *corev1.Node) {
		if n.Spec.ProviderID != "" {
			holders[n.Spec.ProviderID] = append(holders[n.Spec.ProviderID], n.Name)
		}
	})
	for _, id := range slices.Sorted(maps.Keys(holders)) {
		if names := holders[id]; len(names) > 1 {
			slices.Sort(names)
			all = append(all, Finding{Object: "node/" + names[len(names)-1], others: names, Message: fmt.Sprintf("Nodes %s have the provider ID %q.", strings.Join(limited(names), ", "), id)})
		}
	}
	return all
}

func foreignID(v *View) (all []Finding) {
	counts := map[string]int{}
	v.eachNode(func(n *corev1.Node) {
		if s := nodefact.Scheme(n); s != "" {
			counts[s]++
		}
	})
	declared := map[string]bool{}
	for _, m := range v.Managers() {
		declared[m.Flags["cloud-provider"]] = true
		for _, s := range m.Flags.list("own-provider-id-schemes") {
			declared[s] = true
		}
	}
	// The scheme of a provider can differ from its name. So the scheme that most Nodes
	// have counts as declared, too.
	if len(counts) > 0 {
		declared[slices.MaxFunc(slices.Sorted(maps.Keys(counts)), func(a, b string) int { return cmp.Compare(counts[a], counts[b]) })] = true
	}
	v.eachNode(func(n *corev1.Node) {
		if s := nodefact.Scheme(n); s != "" && !declared[s] {
			all = append(all, Finding{
				Object: objectOf(n), Message: fmt.Sprintf("Its provider ID is %q, which does not belong to the cloud of the other Nodes.", n.Spec.ProviderID),
				Evidence: writersOf(n),
			})
		}
	})
	return all
}

func pendingCertificates(v *View) (all []Finding) {
	for i := range v.Requests {
		if r := &v.Requests[i]; len(r.Status.Conditions) == 0 && v.isOld(r.CreationTimestamp.Time) {
			all = append(all, Finding{Object: "csr/" + r.Name, Message: fmt.Sprintf("The request of %s has waited for %s.", r.Spec.Username, v.since(r.CreationTimestamp.Time))})
		}
	}
	return all
}

func noPodCIDR(v *View) (all []Finding) {
	if !slices.ContainsFunc(v.Managers(), Manager.routes) {
		return nil
	}
	v.eachNode(func(n *corev1.Node) {
		if n.Spec.PodCIDR == "" && !waits(n) && v.isOld(n.CreationTimestamp.Time) {
			all = append(all, Finding{Object: objectOf(n), Message: "It has no pod CIDR, so there is no route to its pods."})
		}
	})
	return all
}

func oldLabels(v *View) (all []Finding) {
	v.eachNode(func(n *corev1.Node) {
		if old := n.Labels[corev1.LabelFailureDomainBetaZone]; old != "" && n.Labels[corev1.LabelTopologyZone] == "" {
			all = append(all, Finding{Object: objectOf(n), Message: fmt.Sprintf("It has the label %s=%s and not %s.", corev1.LabelFailureDomainBetaZone, old, corev1.LabelTopologyZone)})
		}
	})
	return all
}

func deletionHeld(v *View) (all []Finding) {
	v.eachNode(func(n *corev1.Node) {
		c := nodefact.Condition(n, mark.InstanceMissing)
		if c != nil && c.Status == corev1.ConditionTrue && c.Reason != cloudDenied && v.isOld(c.LastTransitionTime.Time) {
			all = append(all, Finding{Object: objectOf(n), Message: fmt.Sprintf("%s: %s", c.Reason, c.Message), Evidence: []string{"for " + v.since(c.LastTransitionTime.Time)}})
		}
	})
	return all
}

// mostNames is the maximum number of names in a finding.
const mostNames = 10

// limited returns the names. If there are more than mostNames, it returns the first
// mostNames and says how many more there are.
func limited(names []string) []string {
	if len(names) <= mostNames {
		return names
	}
	return append(names[:mostNames:mostNames], fmt.Sprintf("and %d more", len(names)-mostNames))
}

// have returns "Node a has" or "3 Nodes have".
func have(names []string, kind string) string {
	if len(names) == 1 {
		return kind + " " + names[0] + " has"
	}
	return fmt.Sprintf("%d %ss have", len(names), kind)
}
