package provider

import (
	"context"
	"errors"
)

// InstanceWatcher is a cloudprovider.InstancesV2 that says which instances have
// changed, soon after they have. What it says is a hint: the Node is asked about
// by InstanceMetadata or InstanceMetadataBatch, and only that answer is used. So
// changes may be named late, twice, in any order, or without cause. While the
// watch works, all Nodes are compared with the cloud more rarely. While it fails,
// they are compared once in every --node-status-update-frequency. Without it, they
// are, too.
type InstanceWatcher interface {
	// WatchInstances waits for changes of instances after the place that the token
	// names, and returns them. The token is the Resume of the former answer. In the
	// first call it is empty, which means the place where changes end now.
	//
	// WatchInstances returns soon after the first change. If there is none, it
	// returns an answer without changes after at most 2 minutes. A call that takes
	// 3 minutes is canceled and counts as failed. It is called by one goroutine,
	// at most once in a second.
	//
	// After another error the next call has the same token. An error that wraps
	// ErrWatchExpired means that changes after the token are no longer known. Then,
	// and after three failures in a row, the watch begins anew, and all Nodes are
	// compared with the cloud within --node-status-update-frequency.
	WatchInstances(ctx context.Context, token string) (InstanceChanges, error)
}

// InstanceChanges are the instances that have changed, and how to go on.
type InstanceChanges struct {
	// Changed are instances that were created, changed or deleted. It is empty if
	// nothing has happened.
	Changed []InstanceRef
	// Resume is the token for the next call. A call with it misses no change after
	// this answer. It must not be empty.
	Resume string
}

// InstanceRef names an instance by its provider ID, by the name of its Node, or
// by both. A provider ID is enough for a Node that has one.
type InstanceRef struct {
	ProviderID string
	NodeName   string
}

// ErrWatchExpired means that the cloud no longer knows what has changed since a
// token.
var ErrWatchExpired = errors.New("the token of the watch has expired")
