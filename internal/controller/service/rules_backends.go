package service

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
)

// Choice is which nodes are behind load balancers (KEP-3458,
// upstream-behaviour 6.6).
type Choice struct {
	// Uninitialized lets nodes wait that have the taint of that name. It is set
	// where this daemon initialises nodes.
	Uninitialized bool
	// OnTaint and OnDeletion wake the load balancers when a node gets the
	// autoscaler's taint, or begins to be deleted. Without them such a node goes
	// with the next change of another kind, as upstream has it.
	OnTaint, OnDeletion bool
}

// taintToBeDeleted is set by the cluster autoscaler on a node that it removes.
const taintToBeDeleted = "ToBeDeletedByClusterAutoscaler"

// isBackend tells whether a node belongs behind load balancers. Whether it is
// ready does not matter: the cloud's health checks know better, and a fault of
// the control plane must not take the backends away.
func (c Choice) isBackend(node *corev1.Node) bool {
	switch {
	case node.DeletionTimestamp != nil, isExcluded(node), hasTaint(node, taintToBeDeleted):
		return false
	default:
		return !c.Uninitialized || !hasTaint(node, api.TaintExternalCloudProvider)
	}
}

// isExcluded reads the label as Kubernetes does: present excludes, unless the
// value says false.
func isExcluded(node *corev1.Node) bool {
	value, ok := node.Labels[corev1.LabelNodeExcludeBalancers]
	if !ok {
		return false
	}
	excluded, err := strconv.ParseBool(value)
	return err != nil || excluded
}

func hasTaint(node *corev1.Node, key string) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == key {
			return true
		}
	}
	return false
}

// matters tells whether a change of a node may change the set. Others are
// noticed with the next one that does.
func (c Choice) matters(before, now *corev1.Node) bool {
	return before.UID != now.UID ||
		before.Spec.ProviderID != now.Spec.ProviderID ||
		isExcluded(before) != isExcluded(now) ||
		c.Uninitialized && hasTaint(before, api.TaintExternalCloudProvider) != hasTaint(now, api.TaintExternalCloudProvider) ||
		c.OnTaint && hasTaint(before, taintToBeDeleted) != hasTaint(now, taintToBeDeleted) ||
		c.OnDeletion && before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero()
}
