package kubernetes

// runs are the cases that have to pass, with their full texts, without tags in brackets.
var runs = []string{
	"LoadBalancers should handle load balancer cleanup finalizer for service",
	"Services should check NodePort out-of-range",
	"Services should complete a service status lifecycle",
	"Services should delete a collection of services",
	"Services should find a service from listing all namespaces",
	"Services should prevent NodePort collisions",
	"Node Lifecycle should run through the lifecycle of a node",
	"PodRejectionStatus Kubelet should reject pod when the node didn't have enough resource",
	"Pods Extended Pods Set QOS Class should be set on Pods with matching resource requests and limits for memory and cpu",
	"Pods Extended Pod TerminationGracePeriodSeconds is negative pod with negative grace period",
	"Pods Extended (pod generation) Pod Generation custom-set generation on new pods and graceful delete",
	"RuntimeClass should reject a Pod requesting a RuntimeClass with conflicting node selector",
	"RuntimeClass should run a Pod requesting a RuntimeClass with scheduling with taints",
	"Pod InPlace Resize Container (resource-quota) pod-resize-resource-quota-test exceed maximum CPU",
	"Pod InPlace Resize Container (resource-quota) pod-resize-resource-quota-test exceed maximum Memory",
	"Pod InPlace Resize Container (resource-quota) pod-resize-resource-quota-test exceed maximum CPU and Memory",
	"Pod InPlace Resize Container (limit-ranger) pod-resize-limit-ranger-test exceed maximum CPU",
	"Pod InPlace Resize Container (limit-ranger) pod-resize-limit-ranger-test exceed maximum Memory",
	"Pod InPlace Resize Container (limit-ranger) pod-resize-limit-ranger-test exceed maximum Memory and CPU",
	"Pod InPlace Resize Container (limit-ranger) pod-resize-limit-ranger-test request below min CPU",
	"Pod InPlace Resize Container (limit-ranger) pod-resize-limit-ranger-test request below min Memory",
	"Pod InPlace Resize Container (limit-ranger) pod-resize-limit-ranger-test request below min CPU and min Memory",
}

// refused are the other cases, by a part of their texts, with the reason. The first row that fits counts.
var refused = []refusal{
	{"load balancers of the simulated cloud forward to node ports, and refuse Services without them", []string{"without NodePort"}},
	{"node ports of the playground answer with a text of their own, and not as the pods' program does", []string{
		"ExternalTrafficPolicy: Local should", "disruption during rolling update",
	}},
	{"the program would have to end, or to report its state, and the fake runtime's containers never do", []string{
		"restartable init containers", "Security Context should", "valid increase of", "Events should",
	}},
	{"needs the Kubernetes repository's files beside the test", []string{"liveness pods", "reads a secret", "prints his name"}},
	{"sends traffic between pods, or runs a command in one, and pods of the playground have neither network nor programs", []string{
		"LoadBalancers should", "Services should",
	}},
	{"not tried, or not to the end: about kubelets and the scheduler, as far as the texts of the cases say", []string{""}},
}

// refusal is a reason why cases cannot run here.
type refusal struct {
	why   string
	cases []string
}
