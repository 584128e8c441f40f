package doctor

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func daemonChecks() []Check {
	return []Check{
		{
			ID: "FL301", Category: Daemon, Level: Error, Title: "No cloud-controller-manager leads",
			Why:   "Nobody renews the Lease, so no controller works: Nodes are not initialised, and load balancers are not updated.",
			Looks: "The Leases that the workloads' flags name, and those with the name of a cloud-controller-manager. A leader renews its Lease every few seconds. If a Lease was not renewed for a minute, its holder does not lead. A daemon with `--leader-elect=false` holds no Lease, but counts as a leader.",
			Fix:   "kubectl -n {namespace} describe {kind} {name}",
			Needs: managers, find: noLeader, cannot: noManager,
		},
		{
			ID: "FL302", Category: Daemon, Level: Error, Title: "Two cloud-controller-managers work at once",
			Why:   "Each overwrites what the other has written, and each deletes Nodes by its own rules. If either makes a mistake, a Node is lost.",
			Looks: "Workloads, by their image, program and flags; Leases that are renewed; and the field managers that have written Nodes in the last hour. Managers whose flags divide the objects between them are not reported: `--controllers`, `--load-balancer-class`, `--own-…`.",
			Fix:   "kubectl -n {namespace} scale {kind} {name} --replicas=0 # if this is the one to stop; docs/guides/two-managers.md says how to divide the objects",
			FixOf: map[string]string{
				"daemonset": "kubectl -n {namespace} get {kind} {name} -o yaml # if this is the one to stop: delete it; docs/guides/two-managers.md says how to divide the objects",
				staticPod:   "kubectl -n {namespace} get {kind} {name} -o wide # if this is the one to stop: remove its manifest from its node; docs/guides/two-managers.md says how to divide the objects",
				"lease":     "kubectl -n {namespace} get {kind} {name} -o yaml # then stop its holder, or the other manager; docs/guides/two-managers.md says how to divide the objects",
				"":          "kubectl get nodes -o yaml --show-managed-fields # then stop one of the two; docs/guides/two-managers.md says how to divide the objects",
			},
			Needs: append([]Source{Nodes}, managers...), find: twoManagers,
		},
		{
			ID: "FL303", Category: Daemon, Level: Warning, Title: "The manager cannot start in a new cluster",
			Why:   "CoreDNS waits for a Node that the manager has not initialised yet, and Nodes wait for routes that the manager has not made yet. A manager that needs CoreDNS or a route to start waits for ever.",
			Looks: "`hostNetwork`, `dnsPolicy` and tolerations of the manager's Pods.",
			Fix:   "kubectl -n {namespace} get {kind} {name} -o yaml # then set dnsPolicy: Default, and the tolerations of docs/guides/install.md",
			Needs: managers, find: cannotBootstrap,
		},
		{
			ID: "FL304", Category: Daemon, Level: Warning, Title: "All replicas of the manager are on one node",
			Why:   "If that node fails, no replica is left.",
			Looks: "The nodes of the manager's Pods.",
			Fix:   "kubectl -n {namespace} rollout restart {kind} {name} # after it has topologySpreadConstraints",
			Needs: managers, find: onOneNode,
		},
		{
			ID: "FL306", Category: Daemon, Level: Warning, Title: "Replicas of the manager run different images",
			Why:   "A tag was moved, or a rollout has stopped half-way. The behaviour depends on which replica leads.",
			Looks: "The image that each container runs, by its digest, while no rollout is under way.",
			Fix:   "kubectl -n {namespace} rollout restart {kind} {name}",
			Needs: managers, find: differentImages,
		},
		{
			ID: "FL309", Category: Daemon, Level: Error, Title: "Several replicas work without a leader",
			Why:   "With `--leader-elect=false` all replicas work at the same time, like several managers.",
			Looks: "`--leader-elect` in the Pod's arguments, the replicas, and whether a rollout starts a new Pod before the old one has ended.",
			Fix:   "kubectl -n {namespace} edit {kind} {name} # remove --leader-elect=false, or run one replica with the strategy Recreate",
			Needs: managers, find: noElection,
		},
		{
			ID: "FL310", Category: Daemon, Level: Error, Title: "Pods of the manager are not ready",
			Why:   "A replica that is not ready does not take over.",
			Looks: "The number of ready replicas, and what the containers of the others wait for.",
			Fix:   "kubectl -n {namespace} describe {kind} {name}",
			Needs: managers, find: notReady,
		},
	}
}

func noManager(v *View) string {
	if len(v.Managers()) > 0 {
		return ""
	}
	for i := range v.Leases {
		if namesManager(v.Leases[i].Name) {
			return ""
		}
	}
	return "no cloud-controller-manager is visible, as in a managed control plane; one with --leader-elect=false holds no Lease"
}

func noLeader(v *View) (all []Finding) {
	leads := false
	var claimed []string
	for _, m := range v.Managers() {
		if !m.Elects {
			leads = true // The manager needs no Lease.
			continue
		}
		claimed = append(claimed, m.Lease)
		l := v.lease(m.Lease)
		switch {
		case m.Lease == "":
			leads = true // The name of the Lease depends on the Pod's environment, so the Lease cannot be looked up.
		case l == nil:
			if v.isOld(m.Workload.Created) {
				all = append(all, Finding{Object: m.object(), Message: fmt.Sprintf("Its Lease %s does not exist: no replica has ever led.", m.Lease)})
			}
		case !v.isRenewed(l):
			all = append(all, Finding{Object: "lease/" + m.Lease, Message: "Nobody leads. " + v.lastRenewal(m.Lease), Evidence: []string{m.object() + " uses it"}})
		default:
			leads = true
		}
	}
	if leads {
		return all
	}
	for i := range v.Leases {
		l := &v.Leases[i]
		if name := leaseName(l); namesManager(l.Name) && !slices.Contains(claimed, name) {
			all = append(all, Finding{Object: "lease/" + name, Message: "Nobody leads. " + v.lastRenewal(name), Evidence: []string{"no Pod of a manager is visible; one with --leader-elect=false would hold no Lease"}})
		}
	}
	return all
}

// lastRenewal returns a sentence that says who renewed the Lease last, and when.
func (v *View) lastRenewal(name string) string {
	l := v.lease(name)
	switch {
	case l.Spec.RenewTime == nil:
		return "The Lease was never renewed."
	case l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "":
		return fmt.Sprintf("The last leader released the Lease %s ago.", v.since(l.Spec.RenewTime.Time))
	default:
		return fmt.Sprintf("%s last renewed the Lease %s ago.", *l.Spec.HolderIdentity, v.since(l.Spec.RenewTime.Time))
	}
}

func twoManagers(v *View) []Finding { return v.together(v.Managers()) }

// together returns a finding if several of these managers do the same work, or if two
// field managers have written Nodes in turn. Managers with the same Lease count once,
// because they are replicas.
func (v *View) together(known []Manager) []Finding {
	undivided := slices.DeleteFunc(slices.Clone(known), Manager.divides)
	var keys, names []string
	var odd Manager
	for _, m := range undivided {
		key := m.Lease
		if key == "" {
			key = m.object()
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
			names = append(names, m.String())
			if len(keys) == 1 || m.Lease != metaDefaultLease {
				odd = m
			}
		}
	}
	writers := interleaved(v)
	switch {
	case len(keys) > 1:
		return []Finding{{Object: odd.object(), Message: fmt.Sprintf("%d managers work at once: %s.", len(keys), strings.Join(names, "; ")), Evidence: v.writersOfLateText()}}
	case len(writers) > 1 && len(undivided) == len(known):
		return []Finding{{Message: fmt.Sprintf("Nodes were written by %s in turn in the last hour.", strings.Join(writers, " and ")), Evidence: v.writersOfLateText()}}
	default:
		return nil
	}
}

const metaDefaultLease = "kube-system/" + defaultLease

// span has the Nodes that a field manager has written, and the times of the first
// and the last write.
type span struct {
	first, last time.Time
	nodes       map[string]bool
}

// programName matches the names of programs. A kubelet can write any text into its
// Node as the name of a field manager.
var programName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,63}$`)

// writersOfLate returns the cloud-controller-managers that have written Nodes in the
// last hour, each with its span. The key is the name of the field manager.
func (v *View) writersOfLate() map[string]*span {
	all := map[string]*span{}
	for i := range v.Nodes {
		for _, m := range v.Nodes[i].ManagedFields {
			if m.Time == nil || v.Now.Sub(m.Time.Time) > recent || !namesManager(m.Manager) || !programName.MatchString(m.Manager) {
				continue
			}
			if all[m.Manager] == nil {
				all[m.Manager] = &span{m.Time.Time, m.Time.Time, map[string]bool{}}
			}
			all[m.Manager].add(v.Nodes[i].Name, m.Time.Time)
		}
	}
	return all
}

func (s *span) add(node string, at time.Time) {
	s.nodes[node] = true
	if at.Before(s.first) {
		s.first = at
	}
	if at.After(s.last) {
		s.last = at
	}
}

// wrote returns a text that says how many Nodes the field manager with this name
// has written.
func (s *span) wrote(name string) string {
	if len(s.nodes) == 1 {
		return name + " wrote 1 Node in the last hour"
	}
	return fmt.Sprintf("%s wrote %d Nodes in the last hour", name, len(s.nodes))
}

func (v *View) writersOfLateText() []string {
	var all []string
	late := v.writersOfLate()
	for _, name := range slices.Sorted(maps.Keys(late)) {
		all = append(all, late[name].wrote(name))
	}
	return all
}

// interleaved returns the names of two field managers that have written Nodes in turn.
// It returns nil if there are none. If one manager has replaced another, they have not
// written in turn: the new one began to write after the last write of the old one.
func interleaved(v *View) []string {
	late := v.writersOfLate()
	names := slices.Sorted(maps.Keys(late))
	for i, a := range names {
		for _, b := range names[i+1:] {
			if late[a].first.Before(late[b].last) && late[b].first.Before(late[a].last) {
				return []string{a, b}
			}
		}
	}
	return nil
}

// eachWorkload calls f for each manager whose workload is visible.
func (v *View) eachWorkload(f func(Manager, *Workload)) {
	for _, m := range v.Managers() {
		if m.Workload != nil {
			f(m, m.Workload)
		}
	}
}

func cannotBootstrap(v *View) (all []Finding) {
	v.eachWorkload(func(m Manager, w *Workload) {
		t := w.Template
		var why []string
		if t.DNSPolicy == corev1.DNSClusterFirstWithHostNet || !t.HostNetwork && (t.DNSPolicy == corev1.DNSClusterFirst || t.DNSPolicy == "") {
			why = append(why, "its dnsPolicy asks the cluster's DNS, which waits for an initialised Node")
		}
		if m.routes() && !tolerates(w, corev1.Taint{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule}) {
			why = append(why, "it makes the routes, and does not tolerate "+corev1.TaintNodeNetworkUnavailable)
		}
		if len(why) > 0 {
			all = append(all, Finding{Object: m.object(), Message: "In a new cluster it cannot start: " + strings.Join(why, "; ") + "."})
		}
	})
	return all
}

func onOneNode(v *View) (all []Finding) {
	v.eachWorkload(func(m Manager, w *Workload) {
		nodes := map[string]bool{}
		pods := v.podsOf(w)
		for _, p := range pods {
			nodes[p.Node] = true
		}
		if len(pods) > 1 && len(nodes) == 1 && !nodes[""] && len(v.Nodes) > 1 {
			all = append(all, Finding{Object: m.object(), Message: fmt.Sprintf("All %d Pods are on node %s.", len(pods), pods[0].Node)})
		}
	})
	return all
}

func differentImages(v *View) (all []Finding) {
	v.eachWorkload(func(m Manager, w *Workload) {
		if w.Updating {
			return
		}
		images := imagesOf(v.podsOf(w))
		if len(images) > len(w.Template.Containers) {
			var evidence []string
			for _, image := range slices.Sorted(maps.Keys(images)) {
				evidence = append(evidence, image+" in "+images[image])
			}
			all = append(all, Finding{Object: m.object(), Message: "Its Pods run different images, and no rollout is under way.", Evidence: evidence})
		}
	})
	return all
}

// imagesOf returns the images that the Pods run. The key has the name of the container
// and the image. The value is the name of a Pod that runs it.
func imagesOf(pods []Pod) map[string]string {
	images := map[string]string{}
	for _, p := range pods {
		for _, c := range p.Containers {
			if c.ImageID != "" {
				images[c.Name+" runs "+c.ImageID] = p.Name
			}
		}
	}
	return images
}

func noElection(v *View) (all []Finding) {
	v.eachWorkload(func(m Manager, w *Workload) {
		if m.Elects {
			return
		}
		switch {
		case w.Replicas > 1:
			all = append(all, Finding{Object: m.object(), Message: fmt.Sprintf("%d replicas run with --leader-elect=false, and all of them work.", w.Replicas)})
		case w.Surges:
			all = append(all, Finding{Object: m.object(), Message: "It runs with --leader-elect=false, and a rollout starts the new Pod before the old one has ended: then both work."})
		}
	})
	return all
}

func notReady(v *View) (all []Finding) {
	v.eachWorkload(func(m Manager, w *Workload) {
		if w.Ready >= w.Replicas || w.Updating || !v.isOld(w.Created) {
			return
		}
		var evidence []string
		for _, p := range v.podsOf(w) {
			for _, c := range p.Containers {
				if !p.Ready && c.Waiting != "" {
					evidence = append(evidence, fmt.Sprintf("%s waits: %s, %d restarts", p.object(), c.Waiting, c.Restarts))
				}
			}
		}
		all = append(all, Finding{Object: m.object(), Message: fmt.Sprintf("%d of %d replicas are ready.", w.Ready, w.Replicas), Evidence: evidence})
	})
	return all
}
