// Package mark names what the controllers write on objects, and the controllers that
// are off by default. Tools that only look at a cluster import it in place of the
// controllers.
package mark

import corev1 "k8s.io/api/core/v1"

// Conditions on a Node.
const (
	// NodeInitialized is the condition that shows why a Node waits. It is False on a
	// Node that has waited for more than a minute to be initialised. When the Node is
	// initialised, it is removed or, with --node-condition=always, becomes True.
	NodeInitialized corev1.NodeConditionType = "CloudInitialized"
	// InstanceUnfound is True on a Node whose kubelet reports while the cloud says that
	// there is no instance. It becomes False when the cloud knows the instance again.
	InstanceUnfound corev1.NodeConditionType = "CloudInstanceNotFound"
	// InstanceMissing is the condition that shows why the deletion of a Node is held.
	InstanceMissing corev1.NodeConditionType = "CloudInstanceMissing"
)

// Conditions on a Service. KEP-4631 has defined the first two.
const (
	// ServiceServing reports whether there is a load balancer with an address, and
	// with nodes behind it.
	ServiceServing = "LoadBalancerServing"
	// ServiceProvisioning is True while the cloud is being brought in line with the
	// Service.
	ServiceProvisioning = "LoadBalancerProvisioning"
	// ServiceCleanupHeld is True on a Service whose class is not served here, and whose
	// deletion the finalizer holds up.
	ServiceCleanupHeld = "LoadBalancerCleanupHeld"
)

// ServiceFinalizer keeps a Service until its load balancer is deleted.
const ServiceFinalizer = "service.kubernetes.io/load-balancer-cleanup"

// Names of controllers.
const (
	CertificateController = "kubelet-serving-csr-controller"
	VolumeController      = "persistent-volume-label-controller"
)
