package doctor

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/cluster/clustertest"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
)

type change = clustertest.Change

var (
	noon        = clustertest.Noon
	ago         = clustertest.Ago
	healthy     = clustertest.Healthy
	componentOf = clustertest.ComponentOf
	aNode       = clustertest.Node
	wrote       = clustertest.Wrote
	runsWith    = clustertest.RunsWith
	another     = clustertest.Another
	lease       = clustertest.Lease
	noLeases    = clustertest.NoLeases
	noWorkload  = clustertest.NoWorkload
)

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

// with returns a change that adds a Service.
func with(changes ...func(*corev1.Service)) change {
	s := clustertest.ServiceOf("other")
	for _, c := range changes {
		c(&s)
	}
	return func(v *cluster.View) { v.Services = append(v.Services, s) }
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

// manager returns a change of the manager's workload.
func manager(f func(*cluster.Workload)) change { return func(v *cluster.View) { f(&v.Workloads[0]) } }

func waitsForRoutes(w *cluster.Workload) {
	w.Template.Tolerations = []corev1.Toleration{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Operator: corev1.TolerationOpExists}}
}

func image(image string, args ...string) change {
	return func(v *cluster.View) {
		w := clustertest.WorkloadOf("other", args...)
		w.Template.Containers[0] = cluster.Container{Name: "controller", Image: image, Line: args}
		v.Workloads = append(v.Workloads, w)
	}
}

func pod(p cluster.Pod) change { return func(v *cluster.View) { v.Pods = append(v.Pods, p) } }

// happened adds an event of the daemon.
func happened(kind, name, reason string, age time.Duration) change {
	return happenedBy("service-controller", kind, name, reason, age)
}

func happenedBy(source, kind, name, reason string, age time.Duration) change {
	return func(v *cluster.View) {
		v.Events = append(v.Events, corev1.Event{
			ReportingController: source, InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: "web", Name: name}, Type: corev1.EventTypeWarning, Reason: reason, Message: "What.", LastTimestamp: ago(age),
		})
	}
}

func released(v *cluster.View) {
	v.Leases[0].Spec.HolderIdentity = new("")
}

func reviewed(excess, allowed bool) change {
	return func(v *cluster.View) {
		for _, verb := range []string{"delete", "watch"} {
			v.Reviews = append(v.Reviews, cluster.Review{Manager: "deployment/kube-system/ccm", Account: "acc", Right: cluster.Right{Verb: verb, Resource: "nodes/status", Group: "g", Excess: excess}, Allowed: allowed})
		}
	}
}

func endpoints(ready *bool) change {
	return func(v *cluster.View) {
		v.Slices["web/other"] = []discoveryv1.EndpointSlice{{Endpoints: []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: ready}}}}}
	}
}

func pending(age time.Duration) change {
	return func(v *cluster.View) {
		v.Requests = append(v.Requests, certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "csr", CreationTimestamp: ago(age)}})
	}
}
