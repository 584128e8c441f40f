package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
)

func daemonChecks() []Check {
	const divide = "docs/guides/two-managers.md says how to divide the objects"
	return []Check{
		{
			ID: "FL301", Level: Error, Needs: managers, find: noLeader, cannot: noManager,
			Title: "No cloud-controller-manager leads",
			Why:   "Nobody has renewed the Lease for a minute, so no controller works. With `--leader-elect=false` a daemon needs no Lease.",
			Fix:   "kubectl -n {namespace} describe {kind} {name}",
		},
		{
			ID: "FL302", Level: Error, Needs: andManagers(cluster.Nodes), find: twoManagers,
			Title: "Two cloud-controller-managers work at once",
			Why:   "Each overwrites the other's writes, and deletes Nodes by its own rules. Managers whose flags divide the objects are left out.",
			Fix:   "kubectl -n {namespace} scale {kind} {name} --replicas=0 # if this is the one to stop; " + divide,
			FixOf: map[string]string{
				"daemonset":       "kubectl -n {namespace} get {kind} {name} -o yaml # if this is the one to stop: delete it; " + divide,
				cluster.StaticPod: "kubectl -n {namespace} get {kind} {name} -o wide # if this is the one to stop: remove its manifest from its node; " + divide,
				"lease":           "kubectl -n {namespace} get {kind} {name} -o yaml # then stop its holder, or the other manager; " + divide,
				"":                "kubectl get nodes -o yaml --show-managed-fields # then stop one of the two; " + divide,
			},
		},
		{
			ID: "FL303", Level: Warning, Needs: managers, find: ofWorkloads(cannotBootstrap),
			Title: "The manager cannot start in a new cluster",
			Why:   "CoreDNS and routes wait for the manager. If it needs one of them to start, it waits for ever.",
			Fix:   "kubectl -n {namespace} get {kind} {name} -o yaml # then set dnsPolicy: Default, and the tolerations of docs/guides/install.md",
		},
		{
			ID: "FL304", Level: Warning, Needs: managers, find: ofWorkloads(onOneNode),
			Title: "All replicas of the manager are on one node",
			Why:   "If that node fails, no replica is left.",
			Fix:   "kubectl -n {namespace} rollout restart {kind} {name} # after it has topologySpreadConstraints",
		},
		{
			ID: "FL306", Level: Warning, Needs: managers, find: ofWorkloads(differentImages),
			Title: "Replicas of the manager run different images",
			Why:   "A tag was moved, or a rollout has stopped half-way. The behaviour depends on which replica leads.",
			Fix:   "kubectl -n {namespace} rollout restart {kind} {name}",
		},
		{
			ID: "FL309", Level: Error, Needs: managers, find: ofWorkloads(noElection),
			Title: "Several replicas work without a leader",
			Why:   "With `--leader-elect=false` all replicas work at once, during a rollout, too.",
			Fix:   "kubectl -n {namespace} edit {kind} {name} # remove --leader-elect=false, or run one replica with the strategy Recreate",
		},
		{
			ID: "FL310", Level: Error, Needs: managers, find: ofWorkloads(notReady),
			Title: "Pods of the manager are not ready",
			Why:   "A replica that is not ready does not take over.",
			Fix:   "kubectl -n {namespace} describe {kind} {name}",
		},
	}
}

func noManager(v *cluster.View) string {
	if len(v.Managers()) > 0 || slices.ContainsFunc(v.Leases, func(l coordinationv1.Lease) bool { return cluster.NamesManager(l.Name) }) {
		return ""
	}
	return "no cloud-controller-manager is visible, as in a managed control plane; one with --leader-elect=false holds no Lease"
}

func noLeader(v *cluster.View) (all []Finding) {
	leads := false
	var claimed []string
	for _, m := range v.Managers() {
		if !m.Elects || m.Lease == "" {
			leads = true // The manager needs no Lease, or the Pod's environment names it, so it cannot be looked up.
			continue
		}
		claimed = append(claimed, m.Lease)
		switch l := v.Lease(m.Lease); {
		case l == nil && v.IsOld(m.Workload.Created):
			all = append(all, Finding{Object: m.Object(), Message: fmt.Sprintf("Its Lease %s does not exist: no replica has ever led.", m.Lease)})
		case l == nil:
		case !v.IsRenewed(l):
			all = append(all, nobodyLeads(v, l, m.Object()+" uses it"))
		default:
			leads = true
		}
	}
	for i := range v.Leases {
		if l := &v.Leases[i]; !leads && cluster.NamesManager(l.Name) && !slices.Contains(claimed, cluster.NameOf(l)) {
			all = append(all, nobodyLeads(v, l, "no Pod of a manager is visible; one with --leader-elect=false would hold no Lease"))
		}
	}
	return all
}

// nobodyLeads returns a Finding that says who renewed the Lease last, and when.
func nobodyLeads(v *cluster.View, l *coordinationv1.Lease, evidence string) Finding {
	f := Finding{Object: "lease/" + cluster.NameOf(l), Evidence: []string{evidence}}
	switch {
	case l.Spec.RenewTime == nil:
		f.Message = "Nobody leads. The Lease was never renewed."
	case l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "":
		f.Message = fmt.Sprintf("Nobody leads. The last leader released the Lease %s ago.", v.Since(l.Spec.RenewTime.Time))
	default:
		f.Message = fmt.Sprintf("Nobody leads. %s last renewed the Lease %s ago.", *l.Spec.HolderIdentity, v.Since(l.Spec.RenewTime.Time))
	}
	return f
}

func twoManagers(v *cluster.View) []Finding {
	object, message, evidence := v.AtOnce(v.Managers())
	return add(nil, object, Finding{Message: message, Evidence: evidence})
}

func cannotBootstrap(_ *cluster.View, m cluster.Manager, w *cluster.Workload) Finding {
	t := w.Template
	var why []string
	if t.DNSPolicy == corev1.DNSClusterFirstWithHostNet || !t.HostNetwork && (t.DNSPolicy == corev1.DNSClusterFirst || t.DNSPolicy == "") {
		why = append(why, "its dnsPolicy asks the cluster's DNS, which waits for an initialised Node")
	}
	if m.Routes() && !tolerates(w, corev1.Taint{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule}) {
		why = append(why, "it makes the routes, and does not tolerate "+corev1.TaintNodeNetworkUnavailable)
	}
	if len(why) == 0 {
		return Finding{}
	}
	return found("In a new cluster it cannot start: %s.", strings.Join(why, "; "))
}

func onOneNode(v *cluster.View, _ cluster.Manager, w *cluster.Workload) Finding {
	pods := v.PodsOf(w)
	if len(pods) < 2 || len(v.Nodes) < 2 || pods[0].Node == "" || slices.ContainsFunc(pods, func(p cluster.Pod) bool { return p.Node != pods[0].Node }) {
		return Finding{}
	}
	return found("All %d Pods are on node %s.", len(pods), pods[0].Node)
}

func differentImages(v *cluster.View, _ cluster.Manager, w *cluster.Workload) Finding {
	images := map[string]string{} // the container and its image, and a Pod that runs it
	for _, p := range v.PodsOf(w) {
		for _, c := range p.Containers {
			if c.ImageID != "" {
				images[c.Name+" runs "+c.ImageID] = p.Name
			}
		}
	}
	if w.Updating || len(images) <= len(w.Template.Containers) {
		return Finding{}
	}
	f := found("Its Pods run different images, and no rollout is under way.")
	for _, image := range slices.Sorted(maps.Keys(images)) {
		f.Evidence = append(f.Evidence, image+" in "+images[image])
	}
	return f
}

func noElection(_ *cluster.View, m cluster.Manager, w *cluster.Workload) Finding {
	switch {
	case m.Elects:
		return Finding{}
	case w.Replicas > 1:
		return found("%d replicas run with --leader-elect=false, and all of them work.", w.Replicas)
	case w.Surges:
		return found("It runs with --leader-elect=false, and a rollout starts the new Pod before the old one has ended: then both work.")
	default:
		return Finding{}
	}
}

func notReady(v *cluster.View, _ cluster.Manager, w *cluster.Workload) Finding {
	if w.Ready >= w.Replicas || w.Updating || !v.IsOld(w.Created) {
		return Finding{}
	}
	f := found("%d of %d replicas are ready.", w.Ready, w.Replicas)
	for _, p := range v.PodsOf(w) {
		for _, c := range p.Containers {
			if !p.Ready && c.Waiting != "" {
				f.Evidence = append(f.Evidence, fmt.Sprintf("%s waits: %s, %d restarts", p.Object(), c.Waiting, c.Restarts))
			}
		}
	}
	return f
}
