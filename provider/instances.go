package provider

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// InstanceMetadataBatcher is a cloudprovider.InstancesV2 that describes the
// instances of many nodes with one call to the cloud.
//
// Without it, InstanceMetadata is called for each node.
type InstanceMetadataBatcher interface {
	// InstanceMetadataBatch returns one answer for each node, in the order of
	// nodes. If the whole call fails, the slice must be nil. An error for one node is
	// part of that node's answer. A node's answer is what InstancesV2.InstanceMetadata
	// would have returned for it. The nodes are copies, so the method may keep them.
	InstanceMetadataBatch(ctx context.Context, nodes []*corev1.Node) ([]InstanceMetadataAnswer, error)
	// MaxInstanceMetadataBatch is the largest number of nodes for one call,
	// usually the size of a page of the cloud's list. It must be positive and
	// constant.
	MaxInstanceMetadataBatch() int
}

// InstanceMetadataAnswer is what InstanceMetadata would have returned for one
// node.
type InstanceMetadataAnswer struct {
	Metadata *cloudprovider.InstanceMetadata
	Err      error
}
