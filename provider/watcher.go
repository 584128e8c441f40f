package provider

import (
	"context"
	"errors"
)

// InstanceWatcher is a cloudprovider.InstancesV2 that reports changes of instances
// soon after they happen. Its answers are only hints: the daemon then calls
// InstanceMetadata or InstanceMetadataBatch for the Node, and uses only that
// answer. So a change may be reported late, twice or out of order, and an instance
// may be reported although it has not changed. While the watch works, the daemon
// compares all Nodes with the cloud less often. While the watch fails, the daemon
// compares them as often as without a watch.
//
// Without it, the daemon compares all Nodes with the cloud once in each period
// (--node-status-update-frequency).
type InstanceWatcher interface {
	// WatchInstances waits for changes of instances that come after the token, and
	// returns them. The token is the field Resume of the previous answer. In the
	// first call the token is empty, and the watch begins with the changes from now
	// on.
	//
	// WatchInstances returns soon after the first change. If there is no change,
	// it returns an answer without changes after at most 2 minutes. A call that
	// takes 3 minutes is canceled and counts as failed. One goroutine calls
	// WatchInstances, at most once a second.
	//
	// An error that wraps ErrWatchExpired means that changes after the token are no
	// longer known. After any other error, the next call has the same token. After
	// ErrWatchExpired, and after three failures in a row, the watch begins anew
	// with an empty token. The daemon then compares all Nodes with the cloud within
	// one period (--node-status-update-frequency).
	WatchInstances(ctx context.Context, token string) (InstanceChanges, error)
}

// InstanceChanges has the instances that have changed, and a token for the next
// call.
type InstanceChanges struct {
	// Changed lists the instances that were created, changed or deleted. It is
	// empty if nothing has happened.
	Changed []InstanceRef
	// Resume is the token for the next call. A call with this token misses none of
	// the changes after this answer. It must not be empty.
	Resume string
}

// InstanceRef names an instance by its provider ID, by the name of its Node, or by
// both. If the Node has a provider ID, the provider ID alone is enough.
type InstanceRef struct {
	ProviderID string
	NodeName   string
}

// ErrWatchExpired means that the cloud no longer knows which changes came after
// a token.
var ErrWatchExpired = errors.New("the token of the watch has expired")
