package doctor

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
)

func controlPlaneChecks() []Check {
	const apiServer, controllerManager = cluster.APIServer, cluster.ControllerManager
	return []Check{
		{
			ID: "FL101", Level: Warning, find: untestedVersion,
			Title: "The API server has a version that was not tested",
			Why:   "Fairlead is tested with the three newest minors of Kubernetes.",
			Fix:   "kubectl version",
		},
		{
			ID: "FL102", Level: Error, Needs: []cluster.Source{cluster.Pods}, find: ofComponent(controllerManager, inTreeCloud), cannot: withoutPods(controllerManager),
			Title: "kube-controller-manager has a cloud of its own",
			Why:   "Unless `--cloud-provider` is `external`, old versions run cloud controllers of their own, and new versions do not start.",
			Fix:   "kubectl -n {namespace} get pod {name} -o yaml # then set --cloud-provider=external in its manifest",
		},
		{
			ID: "FL103", Level: Error, Needs: andManagers(cluster.Pods), find: otherCIDRs, cannot: withoutPods(controllerManager),
			Title: "Pod CIDRs are given twice, or not from the daemon's range",
			Why:   "Two Nodes may get one CIDR. The daemon makes no routes for CIDRs outside its own `--cluster-cidr`.",
			Fix:   "kubectl -n {namespace} get {kind} {name} -o yaml # then compare --cluster-cidr, and let only one of the two give CIDRs",
		},
		{
			ID: "FL104", Level: Warning, Needs: []cluster.Source{cluster.Pods}, find: ofComponent(apiServer, apiServerCloud), cannot: withoutPods(apiServer),
			Title: "kube-apiserver has --cloud-provider",
			Why:   "The flag has no use, and newer API servers do not start with it.",
			Fix:   "kubectl -n {namespace} get pod {name} -o yaml # then remove --cloud-provider and --cloud-config from its manifest",
		},
		{
			ID: "FL105", Level: Error, Needs: []cluster.Source{cluster.Pods, cluster.Nodes}, find: noPreferredAddress, cannot: withoutPods(apiServer),
			Title: "The API server cannot reach a kubelet by any of its addresses",
			Why:   "`--kubelet-preferred-address-types` names no type of address that the Node has, so `kubectl logs` and `kubectl exec` fail.",
			Fix:   "kubectl get node {name} -o jsonpath='{.status.addresses}' # then add one of these types to the flag",
		},
		{
			ID: "FL106", Level: Warning, Needs: andManagers(cluster.Services), find: otherBalancers,
			Title: "Another controller serves Services without a class",
			Why:   "MetalLB, PureLB or ServiceLB of k3s and the daemon overwrite each other's status of such Services.",
			Fix:   "kubectl -n {namespace} get {kind} {name} -o yaml # then give one of the two a load balancer class",
		},
	}
}

func untestedVersion(v *cluster.View) []Finding {
	parts := strings.Split(strings.TrimPrefix(v.Version, "v"), ".")
	if len(parts) < 2 {
		return nil
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil || minor >= oldestMinor && minor <= newestMinor {
		return nil
	}
	return []Finding{found("The API server is %s. This release is tested with 1.%d to 1.%d.", v.Version, oldestMinor, newestMinor)}
}

func inTreeCloud(_ *cluster.View, _ *cluster.Pod, f cluster.Flags) Finding {
	if cloud := f["cloud-provider"]; cloud != "" && cloud != "external" {
		return found("kube-controller-manager runs with --cloud-provider=%s, and not with external.", cloud)
	}
	return Finding{}
}

func otherCIDRs(v *cluster.View) (all []Finding) {
	for _, p := range v.Component(cluster.ControllerManager) {
		all = append(all, ofWorkloads(func(_ *cluster.View, m cluster.Manager, _ *cluster.Workload) Finding {
			return otherCIDRsThan(m, &p)
		})(v)...)
	}
	return all
}

// otherCIDRsThan compares the flags of a manager with those of kube-controller-manager.
func otherCIDRsThan(m cluster.Manager, p *cluster.Pod) Finding {
	theirs := p.Flags()
	chosen := m.Flags.List("controllers")
	gives := slices.Contains(chosen, "node-ipam-controller") || slices.Contains(chosen, "nodeipam")
	ours, given := m.Flags["cluster-cidr"], theirs["cluster-cidr"]
	switch {
	case gives && theirs.Is("allocate-node-cidrs", false):
		return Finding{
			Message:  "Both the daemon and kube-controller-manager give Nodes their pod CIDRs.",
			Evidence: []string{"--controllers=" + m.Flags["controllers"] + " of " + m.Object(), "--allocate-node-cidrs of " + p.Object()},
		}
	case m.Routes() && given != "" && !sameCIDRs(ours, given):
		f := found("--cluster-cidr is %s, and that of kube-controller-manager is %s.", ours, given)
		f.Evidence = []string{p.Object()}
		return f
	default:
		return Finding{}
	}
}

// sameCIDRs reports whether two lists have the same CIDRs. It returns true if a list
// cannot be parsed.
func sameCIDRs(a, b string) bool {
	read := func(list string) (all []string, ok bool) {
		for text := range strings.SplitSeq(list, ",") {
			prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
			if err != nil {
				return nil, false
			}
			all = append(all, prefix.Masked().String())
		}
		slices.Sort(all)
		return all, true
	}
	first, ok := read(a)
	second, alsoOK := read(b)
	return !ok || !alsoOK || slices.Equal(first, second)
}

func apiServerCloud(_ *cluster.View, _ *cluster.Pod, f cluster.Flags) Finding {
	if cloud := f["cloud-provider"]; cloud != "" {
		return found("kube-apiserver runs with --cloud-provider=%s.", cloud)
	}
	return Finding{}
}

func noPreferredAddress(v *cluster.View) []Finding {
	for _, p := range v.Component(cluster.APIServer) {
		types := p.Flags().List("kubelet-preferred-address-types")
		var names []string
		for i := range v.Nodes {
			n := &v.Nodes[i]
			preferred := slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return slices.Contains(types, string(a.Type)) })
			if len(types) > 0 && !waits(n) && len(n.Status.Addresses) > 0 && !preferred {
				names = append(names, n.Name)
			}
		}
		if len(names) > 0 {
			f := found("%s no address of the types %s.", have(names), strings.Join(types, ", "))
			f.Object, f.others = "node/"+names[0], names
			f.Evidence = []string{"--kubelet-preferred-address-types=" + strings.Join(types, ",") + " of " + p.Object()}
			return []Finding{f}
		}
	}
	return nil
}

func otherBalancers(v *cluster.View) (all []Finding) {
	serves := slices.ContainsFunc(v.Managers(), func(m cluster.Manager) bool { return m.Workload != nil && m.Serves("") })
	without := slices.IndexFunc(v.Services, func(s corev1.Service) bool {
		return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil
	})
	if !serves || without < 0 {
		return nil
	}
	for i := range v.Workloads {
		w := &v.Workloads[i]
		if name := w.Balancer(); name != "" && w.Replicas > 0 {
			all = append(all, Finding{
				Object: w.Object(), Message: name + " and the daemon both serve Services without a class.",
				Evidence: []string{serviceObject(&v.Services[without]) + " has no class"},
			})
		}
	}
	return all
}
