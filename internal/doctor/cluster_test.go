package doctor

import (
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-k8s/fairlead/internal/controller/service"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

// change is a function that changes a healthy cluster.
type change func(*View)

// healthy returns a cluster in which every check passes.
func healthy() *View {
	v := &View{
		Now: noon, Waiting: 5 * time.Minute, Version: "v1.37.1",
		Missing: map[Source]string{}, Partly: map[Source]bool{}, Slices: map[string][]discoveryv1.EndpointSlice{},
		Workloads: []Workload{workloadOf("ccm")},
		Leases:    []coordinationv1.Lease{leaseOf("cloud-controller-manager", 2*time.Second)},
		Reviews:   []Review{{Manager: "deployment/kube-system/ccm", Account: "a:b:kube-system:ccm", Right: Right{Verb: "list", Resource: "nodes"}, Allowed: true}},
	}
	for _, name := range []string{"a", "b"} {
		v.Nodes = append(v.Nodes, nodeOf(name))
		v.Pods = append(v.Pods, Pod{
			Namespace: "kube-system", Name: "ccm-" + name, Node: name, Labels: map[string]string{"app": "ccm"}, Ready: true,
			Containers: []ContainerStatus{{Name: "ccm", ImageID: "sha256:1"}},
		})
	}
	v.Pods = append(v.Pods, componentOf(apiServer), componentOf(controllerManager, "--cloud-provider=external", "--cluster-cidr=10.0.0.0/8"))
	v.Services = []corev1.Service{serviceOf("front")}
	v.Services[0].Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	return v
}

func nodeOf(name string) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: ago(time.Hour), Labels: map[string]string{corev1.LabelTopologyZone: "z", corev1.LabelInstanceTypeStable: "t"}},
		Spec:       corev1.NodeSpec{ProviderID: "acme://" + name, PodCIDR: "10.0.0.0/24"},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}},
	}
}

func workloadOf(name string, args ...string) Workload {
	return Workload{
		Kind: "deployment", Namespace: "kube-system", Name: name, Created: noon.Add(-time.Hour), Replicas: 2, Ready: 2, Surges: true,
		Selector: labels.SelectorFromSet(labels.Set{"app": name}),
		Template: Template{
			DNSPolicy: corev1.DNSDefault, ServiceAccount: name, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []Container{{Name: name, Image: "example.com/" + name + ":v1", Line: append([]string{"--cloud-provider=acme", "--cluster-cidr=10.0.0.0/8"}, args...)}},
		},
	}
}

func leaseOf(name string, renewed time.Duration) coordinationv1.Lease {
	at := metav1.NewMicroTime(noon.Add(-renewed))
	return coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("replica"), RenewTime: &at}}
}

func componentOf(name string, args ...string) Pod {
	return Pod{Namespace: "kube-system", Name: name + "-0", Component: name, Template: Template{Containers: []Container{{Name: name, Image: name, Line: append([]string{name}, args...)}}}}
}

func serviceOf(name string) corev1.Service {
	return corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, CreationTimestamp: ago(time.Hour)},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
}

// aNode returns a change that adds a Node.
func aNode(name string, changes ...func(*corev1.Node)) change {
	n := nodeOf(name)
	for _, c := range changes {
		c(&n)
	}
	return func(v *View) { v.Nodes = append(v.Nodes, n) }
}

func tainted(n *corev1.Node) {
	n.Spec = corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}}}
}

func bare(n *corev1.Node) { n.Labels, n.Spec.ProviderID = nil, "" }

func young(n *corev1.Node) { n.CreationTimestamp = ago(time.Minute) }

func labelled(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Labels = map[string]string{key: value, corev1.LabelInstanceTypeStable: n.Labels[corev1.LabelInstanceTypeStable]}
	}
}

func id(id string) func(*corev1.Node) { return func(n *corev1.Node) { n.Spec.ProviderID = id } }

func shows(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: "Why.", LastTransitionTime: ago(10 * time.Minute)})
	}
}

func changedLately(n *corev1.Node) {
	for i := range n.Status.Conditions {
		n.Status.Conditions[i].LastTransitionTime = ago(time.Minute)
	}
}

func wrote(manager string, ages ...time.Duration) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for _, a := range ages {
			n.ManagedFields = append(n.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, Time: new(ago(a))})
		}
	}
}

// with returns a change that adds a Service.
func with(changes ...func(*corev1.Service)) change {
	s := serviceOf("other")
	for _, c := range changes {
		c(&s)
	}
	return func(v *View) { v.Services = append(v.Services, s) }
}

func addressed(s *corev1.Service) {
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.2"}}
}

func ofClass(name string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerClass = &name }
}

func says(kind, reason string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: kind, Reason: reason, Message: "Why.", LastTransitionTime: ago(time.Hour)})
	}
}

func local(s *corev1.Service) {
	s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
}

func deleting(s *corev1.Service) {
	s.DeletionTimestamp, s.Finalizers = new(ago(time.Hour)), []string{service.Finalizer}
}

// runsWith returns a change that adds arguments to the manager.
func runsWith(args ...string) change {
	return func(v *View) {
		c := &v.Workloads[0].Template.Containers[0]
		c.Line = append(slices.Clone(c.Line), args...)
	}
}

// manager returns a change of the manager's workload.
func manager(f func(*Workload)) change { return func(v *View) { f(&v.Workloads[0]) } }

func waitsForRoutes(w *Workload) {
	w.Template.Tolerations = []corev1.Toleration{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Operator: corev1.TolerationOpExists}}
}

// another returns a change that adds a workload.
func another(name string, args ...string) change {
	return func(v *View) { v.Workloads = append(v.Workloads, workloadOf(name, args...)) }
}

func image(image string, args ...string) change {
	return func(v *View) {
		w := workloadOf("other", args...)
		w.Template.Containers[0] = Container{Name: "controller", Image: image, Line: args}
		v.Workloads = append(v.Workloads, w)
	}
}

func lease(name string, renewed time.Duration) change {
	return func(v *View) {
		v.Leases = slices.DeleteFunc(v.Leases, func(l coordinationv1.Lease) bool { return l.Name == name })
		v.Leases = append(v.Leases, leaseOf(name, renewed))
	}
}

func noLeases(v *View) { v.Leases = nil }

func noWorkload(v *View) { v.Workloads = nil }

func pod(p Pod) change { return func(v *View) { v.Pods = append(v.Pods, p) } }

// happened adds an event of the daemon.
func happened(kind, name, reason string, age time.Duration) change {
	return happenedBy("service-controller", kind, name, reason, age)
}

func happenedBy(source, kind, name, reason string, age time.Duration) change {
	return func(v *View) {
		v.Events = append(v.Events, corev1.Event{
			ReportingController: source, InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: "web", Name: name}, Type: corev1.EventTypeWarning, Reason: reason, Message: "What.", LastTimestamp: ago(age),
		})
	}
}

func released(v *View) {
	v.Leases[0].Spec.HolderIdentity = new("")
}

func reviewed(excess, allowed bool) change {
	return func(v *View) {
		for _, verb := range []string{"delete", "watch"} {
			v.Reviews = append(v.Reviews, Review{Manager: "deployment/kube-system/ccm", Account: "acc", Right: Right{Verb: verb, Resource: "nodes/status", Group: "g", Excess: excess}, Allowed: allowed})
		}
	}
}

func endpoints(ready *bool) change {
	return func(v *View) {
		v.Slices["web/other"] = []discoveryv1.EndpointSlice{{Endpoints: []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: ready}}}}}
	}
}

func pending(age time.Duration) change {
	return func(v *View) {
		v.Requests = append(v.Requests, certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "csr", CreationTimestamp: ago(age)}})
	}
}
