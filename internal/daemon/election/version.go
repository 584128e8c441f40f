package election

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// versioned is a client of Leases that keeps the resourceVersion of the last Lease that
// the API server has returned. A resourcelock does not show it. It needs no mutex, because
// an election makes one request at a time.
type versioned struct {
	clientv1.LeasesGetter

	last string
}

// watchVersions makes the lock keep the resourceVersion of the Lease, and returns a
// function that returns the last one. For a lock without a Lease it is always empty.
func watchVersions(lock resourcelock.Interface) func() string {
	leases, ok := lock.(*resourcelock.LeaseLock)
	if !ok {
		return func() string { return "" }
	}
	v := &versioned{LeasesGetter: leases.Client}
	leases.Client = v
	return func() string { return v.last }
}

// Leases is part of clientv1.LeasesGetter.
func (v *versioned) Leases(namespace string) clientv1.LeaseInterface {
	return versionedLeases{LeaseInterface: v.LeasesGetter.Leases(namespace), versioned: v}
}

type versionedLeases struct {
	clientv1.LeaseInterface

	versioned *versioned
}

// Get is part of clientv1.LeaseInterface.
func (l versionedLeases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	return l.keep(l.LeaseInterface.Get(ctx, name, o))
}

// Create is part of clientv1.LeaseInterface.
func (l versionedLeases) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return l.keep(l.LeaseInterface.Create(ctx, lease, o))
}

// Update is part of clientv1.LeaseInterface.
func (l versionedLeases) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return l.keep(l.LeaseInterface.Update(ctx, lease, o))
}

func (l versionedLeases) keep(lease *coordinationv1.Lease, err error) (*coordinationv1.Lease, error) {
	if err == nil {
		l.versioned.last = lease.ResourceVersion
	}
	return lease, err
}
