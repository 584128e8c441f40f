package provider

import (
	"context"
	"time"

	cloudprovider "k8s.io/cloud-provider"
)

// InstanceLister is a cloudprovider.InstancesV2 that lists all instances of this
// cluster, page by page. A Node that agrees with a list needs no question of its
// own. A Node that differs from the list, or is not in it, is asked about by
// InstanceMetadata or InstanceMetadataBatch: nothing is written or deleted because
// of a list. Without it, each Node is asked about once in every --node-status-update-frequency.
type InstanceLister interface {
	// ListInstances returns one page of the list. The token is empty for the first
	// page, and the former page's Next for a later one. The call has the deadline
	// of a call that changes nothing. Minutes may pass between two pages. If the
	// cloud no longer knows a token, ListInstances returns an error, and the list
	// begins anew. An error is returned with a zero page.
	ListInstances(ctx context.Context, token string) (InstancePage, error)
}

// InstancePage is a part of the list of all instances.
type InstancePage struct {
	// Instances are in any order. Each means what InstanceMetadata would have
	// returned for its Node. An instance without a provider ID is ignored. Some
	// may be missing, for example those of a region that does not answer.
	Instances []cloudprovider.InstanceMetadata
	// Next is the token of the next page. It is empty on the last one.
	Next string
	// AsOf is when the cloud knew this, by the clock of this machine. The zero
	// time means: when the call began. A page that is older than the period
	// (--node-status-update-frequency) is not used, and each Node is asked about.
	AsOf time.Time
}
