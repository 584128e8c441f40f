// Package clustertest has a healthy cluster for tests, and changes that harm it.
package clustertest

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
)

// Noon is the time of the cluster.
var Noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// Ago returns a time before Noon.
func Ago(d time.Duration) metav1.Time { return metav1.NewTime(Noon.Add(-d)) }

// Change is a function that changes a Healthy cluster.
type Change func(*cluster.View)

// Healthy returns a cluster in which every check passes.
func Healthy() *cluster.View {
	v := &cluster.View{
		Now: Noon, Waiting: 5 * time.Minute, Version: "v1.37.2",
		Missing: map[cluster.Source]error{}, Partly: map[cluster.Source]bool{}, Slices: map[string][]discoveryv1.EndpointSlice{},
		Workloads: []cluster.Workload{WorkloadOf("ccm")},
		Leases:    []coordinationv1.Lease{LeaseOf("cloud-controller-manager", 2*time.Second)},
		Reviews:   []cluster.Review{{Manager: "deployment/kube-system/ccm", Account: "a:b:kube-system:ccm", Right: cluster.Right{Verb: "list", Resource: "nodes"}, Allowed: true}},
	}
	for _, name := range []string{"a", "b"} {
		v.Nodes = append(v.Nodes, NodeOf(name))
		v.Pods = append(v.Pods, cluster.Pod{
			Namespace: "kube-system", Name: "ccm-" + name, Node: name, Labels: map[string]string{"app": "ccm"}, Ready: true,
			Containers: []cluster.ContainerStatus{{Name: "ccm", ImageID: "sha256:1"}},
		})
	}
	v.Pods = append(v.Pods, ComponentOf(cluster.APIServer), ComponentOf(cluster.ControllerManager, "--cloud-provider=external", "--cluster-cidr=10.0.0.0/8"))
	v.Services = []corev1.Service{ServiceOf("front")}
	v.Services[0].Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	return v
}

// NodeOf returns an initialised Node.
func NodeOf(name string) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: Ago(time.Hour), Labels: map[string]string{corev1.LabelTopologyZone: "z", corev1.LabelInstanceTypeStable: "t"}},
		Spec:       corev1.NodeSpec{ProviderID: "acme://" + name, PodCIDR: "10.0.0.0/24"},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}},
	}
}

// WorkloadOf returns a manager that has these arguments.
func WorkloadOf(name string, args ...string) cluster.Workload {
	return cluster.Workload{
		Kind: "deployment", Namespace: "kube-system", Name: name, Created: Noon.Add(-time.Hour), Replicas: 2, Ready: 2, Surges: true,
		Selector: labels.SelectorFromSet(labels.Set{"app": name}),
		Template: cluster.Template{
			DNSPolicy: corev1.DNSDefault, ServiceAccount: name, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []cluster.Container{{Name: name, Image: "example.com/" + name + ":v1", Line: append([]string{"--cloud-provider=acme", "--cluster-cidr=10.0.0.0/8"}, args...)}},
		},
	}
}

// LeaseOf returns a Lease of a manager.
func LeaseOf(name string, renewed time.Duration) coordinationv1.Lease {
	at := metav1.NewMicroTime(Noon.Add(-renewed))
	return coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("replica"), RenewTime: &at}}
}

// ComponentOf returns a Pod of the control plane.
func ComponentOf(name string, args ...string) cluster.Pod {
	return cluster.Pod{Namespace: "kube-system", Name: name + "-0", Component: name, Template: cluster.Template{Containers: []cluster.Container{{Name: name, Image: name, Line: append([]string{name}, args...)}}}}
}

// ServiceOf returns a Service of type LoadBalancer.
func ServiceOf(name string) corev1.Service {
	return corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, CreationTimestamp: Ago(time.Hour)},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
}

// Node returns a Change that adds a Node.
func Node(name string, changes ...func(*corev1.Node)) Change {
	n := NodeOf(name)
	for _, c := range changes {
		c(&n)
	}
	return func(v *cluster.View) { v.Nodes = append(v.Nodes, n) }
}

// Wrote returns a change of a Node that the manager has written at these times.
func Wrote(manager string, ages ...time.Duration) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for _, a := range ages {
			n.ManagedFields = append(n.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, Time: new(Ago(a))})
		}
	}
}

// RunsWith returns a Change that adds arguments to the manager.
func RunsWith(args ...string) Change {
	return func(v *cluster.View) {
		c := &v.Workloads[0].Template.Containers[0]
		c.Line = append(slices.Clone(c.Line), args...)
	}
}

// Another returns a Change that adds a workload.
func Another(name string, args ...string) Change {
	return func(v *cluster.View) { v.Workloads = append(v.Workloads, WorkloadOf(name, args...)) }
}

// Lease returns a Change that adds a Lease, or replaces it.
func Lease(name string, renewed time.Duration) Change {
	return func(v *cluster.View) {
		v.Leases = slices.DeleteFunc(v.Leases, func(l coordinationv1.Lease) bool { return l.Name == name })
		v.Leases = append(v.Leases, LeaseOf(name, renewed))
	}
}

// NoLeases removes all Leases.
func NoLeases(v *cluster.View) { v.Leases = nil }

// NoWorkload removes all workloads.
func NoWorkload(v *cluster.View) { v.Workloads = nil }
