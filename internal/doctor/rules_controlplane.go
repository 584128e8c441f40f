package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The range of Kubernetes minors with which this release is tested; see
// docs/reference/skew.md.
const (
	newestMinor = 37
	oldestMinor = 35
)

func controlPlaneChecks() []Check {
	return []Check{
		{
			ID: "FL101", Category: ControlPlane, Level: Warning, Title: "The API server has a version that was not tested",
			Why:   "Fairlead is tested with the three newest minors of Kubernetes.",
			Looks: "The version of the API server.",
			Fix:   "kubectl version", find: untestedVersion,
		},
		{
			ID: "FL102", Category: ControlPlane, Level: Error, Title: "kube-controller-manager has a cloud of its own",
			Why:   "If `--cloud-provider` is set to anything but `external`, old versions run cloud controllers of their own, and new versions do not start.",
			Looks: "The command line of kube-controller-manager, if its Pods are visible.",
			Fix:   "kubectl -n {namespace} get pod {name} -o yaml # then set --cloud-provider=external in its manifest",
			Needs: []Source{Pods}, find: inTreeCloud, cannot: withoutPods(controllerManager),
		},
		{
			ID: "FL103", Category: ControlPlane, Level: Error, Title: "Pod CIDRs are given twice, or not from the daemon's range",
			Why:   "Two allocators may give the same CIDR to two Nodes. If the two values of `--cluster-cidr` differ, the daemon makes no routes for CIDRs outside its own.",
			Looks: "`--allocate-node-cidrs`, `--cluster-cidr` and `--controllers` of kube-controller-manager and of the daemon.",
			Fix:   "kubectl -n {namespace} get {kind} {name} -o yaml # then compare --cluster-cidr, and let only one of the two give CIDRs",
			Needs: append([]Source{Pods}, managers...), find: otherCIDRs, cannot: withoutPods(controllerManager),
		},
		{
			ID: "FL104", Category: ControlPlane, Level: Warning, Title: "kube-apiserver has --cloud-provider",
			Why:   "The flag has no use beside a cloud-controller-manager. Newer API servers do not know this flag, and do not start if it is set.",
			Looks: "The command line of kube-apiserver, if its Pods are visible.",
			Fix:   "kubectl -n {namespace} get pod {name} -o yaml # then remove --cloud-provider and --cloud-config from its manifest",
			Needs: []Source{Pods}, find: apiServerCloud, cannot: withoutPods(apiServer),
		},
		{
			ID: "FL105", Category: ControlPlane, Level: Error, Title: "The API server cannot reach a kubelet by any of its addresses",
			Why:   "`--kubelet-preferred-address-types` names no type of address that the Node has. `kubectl logs` and `kubectl exec` fail.",
			Looks: "That flag of kube-apiserver, and the addresses of initialised Nodes.",
			Fix:   "kubectl get node {name} -o jsonpath='{.status.addresses}' # then add one of these types to the flag",
			Needs: []Source{Pods, Nodes}, find: noPreferredAddress, cannot: withoutPods(apiServer),
		},
		{
			ID: "FL106", Category: ControlPlane, Level: Warning, Title: "Another controller serves Services without a class",
			Why:   "The other controller (MetalLB, PureLB or ServiceLB of k3s) and the daemon both write the status of such Services, and each overwrites what the other has written.",
			Looks: "Deployments and DaemonSets with the images of these controllers, and Services of type LoadBalancer without `spec.loadBalancerClass`.",
			Fix:   "kubectl -n {namespace} get {kind} {name} -o yaml # then give one of the two a load balancer class",
			Needs: append([]Source{Services}, managers...), find: otherBalancers,
		},
	}
}

const (
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
)

func withoutPods(component string) func(*View) string {
	return func(v *View) string {
		if len(v.component(component)) == 0 {
			return "no Pod of " + component + " is visible, as in a managed control plane"
		}
		return ""
	}
}

// flagsIn returns the flags of a component's Pod.
func flagsIn(p Pod) flags {
	var line []string
	for _, c := range p.Template.Containers {
		line = append(line, c.Line...)
	}
	return flagsOf(line)
}

func untestedVersion(v *View) []Finding {
	parts := strings.Split(strings.TrimPrefix(v.Version, "v"), ".")
	if len(parts) < 2 {
		return nil
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil || minor >= oldestMinor && minor <= newestMinor {
		return nil
	}
	return []Finding{{Message: fmt.Sprintf("The API server is %s. This release is tested with 1.%d to 1.%d.", v.Version, oldestMinor, newestMinor)}}
}

func inTreeCloud(v *View) []Finding {
	var all []Finding
	for _, p := range v.component(controllerManager) {
		if cloud := flagsIn(p)["cloud-provider"]; cloud != "" && cloud != "external" {
			all = append(all, Finding{Object: p.object(), Message: fmt.Sprintf("kube-controller-manager runs with --cloud-provider=%s, and not with external.", cloud)})
		}
	}
	return all
}

func otherCIDRs(v *View) []Finding {
	var all []Finding
	for _, p := range v.component(controllerManager) {
		theirs := flagsIn(p)
		for _, m := range v.Managers() {
			if m.Workload == nil {
				continue
			}
			gives := slices.Contains(m.Flags.list("controllers"), "node-ipam-controller") || slices.Contains(m.Flags.list("controllers"), "nodeipam")
			if gives && theirs.is("allocate-node-cidrs", false) {
				all = append(all, Finding{
					Object: m.object(), Message: "Both the daemon and kube-controller-manager give Nodes their pod CIDRs.",
					Evidence: []string{"--controllers=" + m.Flags["controllers"] + " of " + m.object(), "--allocate-node-cidrs of " + p.object()},
				})
				continue
			}
			if ours, given := m.Flags["cluster-cidr"], theirs["cluster-cidr"]; m.routes() && given != "" && !sameCIDRs(ours, given) {
				all = append(all, Finding{Object: m.object(), Message: fmt.Sprintf("--cluster-cidr is %s, and that of kube-controller-manager is %s.", ours, given), Evidence: []string{p.object()}})
			}
		}
	}
	return all
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

func apiServerCloud(v *View) []Finding {
	var all []Finding
	for _, p := range v.component(apiServer) {
		if cloud := flagsIn(p)["cloud-provider"]; cloud != "" {
			all = append(all, Finding{Object: p.object(), Message: fmt.Sprintf("kube-apiserver runs with --cloud-provider=%s.", cloud)})
		}
	}
	return all
}

func noPreferredAddress(v *View) []Finding {
	for _, p := range v.component(apiServer) {
		types := flagsIn(p).list("kubelet-preferred-address-types")
		if len(types) == 0 {
			continue
		}
		var names []string
		for i := range v.Nodes {
			n := &v.Nodes[i]
			if !waits(n) && len(n.Status.Addresses) > 0 && !slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return slices.Contains(types, string(a.Type)) }) {
				names = append(names, n.Name)
			}
		}
		if len(names) > 0 {
			return []Finding{{
				Object:   "node/" + names[0],
				others:   names,
				Message:  fmt.Sprintf("%s no address of the types %s.", have(names, "Node"), strings.Join(types, ", ")),
				Evidence: []string{"--kubelet-preferred-address-types=" + strings.Join(types, ",") + " of " + p.object()},
			}}
		}
	}
	return nil
}

// balancers has programs that serve Services of type LoadBalancer. The field image is a
// part of the name of their image.
var balancers = []struct{ image, name string }{
	{"metallb/controller", "MetalLB"},
	{"purelb/allocator", "PureLB"},
	{"klipper-lb", "ServiceLB of k3s"},
}

func otherBalancers(v *View) []Finding {
	serves := slices.ContainsFunc(v.Managers(), func(m Manager) bool { return m.Workload != nil && m.serves("") })
	without := slices.IndexFunc(v.Services, func(s corev1.Service) bool {
		return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil
	})
	if !serves || without < 0 {
		return nil
	}
	service := &v.Services[without]
	var all []Finding
	for i := range v.Workloads {
		w := &v.Workloads[i]
		if name := balancerOf(w.Template); name != "" && w.Replicas > 0 {
			all = append(all, Finding{
				Object: w.object(), Message: name + " and the daemon both serve Services without a class.",
				Evidence: []string{"service/" + service.Namespace + "/" + service.Name + " has no class"},
			})
		}
	}
	return all
}

// If the Pods run a program that balancers lists, balancerOf returns the name of the
// program. It returns "" if they run none, or if the program serves only its own class.
func balancerOf(t Template) string {
	for _, c := range t.Containers {
		for _, b := range balancers {
			if strings.Contains(c.Image, b.image) && flagsOf(c.Line)["lb-class"] == "" {
				return b.name
			}
		}
	}
	return ""
}
