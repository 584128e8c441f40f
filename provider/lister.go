package provider

import (
	"context"
	"time"

	cloudprovider "k8s.io/cloud-provider"
)

// InstanceLister is a cloudprovider.InstancesV2 that lists all instances of this cluster, page
// by page. If a Node agrees with the list, the daemon makes no call for that Node. For each
// other Node it calls InstanceMetadata or InstanceMetadataBatch. So a list alone never makes
// the daemon write or delete anything.
//
// Without it, the daemon asks the cloud about each Node once in each period
// (--node-status-update-frequency).
type InstanceLister interface {
	// ListInstances returns one page of the list. The token is empty for the first
	// page. For each later page it is the field Next of the previous page. The context ends
	// after --cloud-read-timeout. Minutes may pass between two pages. If the cloud no longer
	// knows a token, ListInstances returns an error, and the daemon begins the list anew. If
	// there is an error, the page must be the zero value. Stopped instances belong in the
	// list. Terminated instances do not, even if the cloud still lists them.
	ListInstances(ctx context.Context, token string) (InstancePage, error)
}

// InstancePage is a part of the list of all instances.
type InstancePage struct {
	// Instances are in any order. Each one is what InstanceMetadata would have returned
	// for the Node of that instance. An instance without a provider ID is ignored.
	// Instances may be missing, for example those of a region that does not answer.
	Instances []cloudprovider.InstanceMetadata
	// Next is the token of the next page. It is empty on the last one.
	Next string
	// AsOf is the time at which the cloud read these instances, by the clock of
	// this machine. The zero value means the time when the call began. If a
	// page is older than the period (--node-status-update-frequency), the
	// daemon does not use the list, and asks the cloud about each Node.
	AsOf time.Time
}
