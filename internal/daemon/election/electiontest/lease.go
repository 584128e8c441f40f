// Package electiontest has a Lease without a server, for the tests of package
// app and of the packages below it. Only tests import it.
package electiontest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	componentbaseconfig "k8s.io/component-base/config"
)

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// Config returns a configuration with upstream's default durations.
func Config() componentbaseconfig.LeaderElectionConfiguration {
	return componentbaseconfig.LeaderElectionConfiguration{
		LeaderElect:   true,
		LeaseDuration: metav1.Duration{Duration: 15 * time.Second},
		RenewDeadline: metav1.Duration{Duration: 10 * time.Second},
		RetryPeriod:   metav1.Duration{Duration: 2 * time.Second},
		ResourceName:  "lease",
	}
}

// Lease is a Lease without a server. The zero value is a Lease that does not
// exist yet.
type Lease struct {
	mu      sync.Mutex
	version int                               // 0: does not exist; guarded by mu
	record  resourcelock.LeaderElectionRecord // guarded by mu
}

// Held returns a Lease that another process holds for the given number of
// seconds.
func Held(holder string, seconds int) *Lease {
	return &Lease{version: 1, record: resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: seconds}}
}

// Holder returns the identity of the Lease's holder. It returns "" if there is none.
func (l *Lease) Holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record.HolderIdentity
}

// Take gives the Lease to another process.
func (l *Lease) Take(holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version++
	l.record.HolderIdentity = holder
}

// Delete deletes the Lease.
func (l *Lease) Delete() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = 0
}

// Lock returns a replica's view of the Lease.
func (l *Lease) Lock(identity string) *Lock { return &Lock{lease: l, identity: identity} }

// Lock is one replica's view of a Lease.
type Lock struct {
	Cut atomic.Bool // the replica cannot reach the server

	lease    *Lease
	identity string
	seen     int // the version that the replica has read or written last
}

// Get is part of resourcelock.Interface.
func (l *Lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.lease.mu.Lock()
	defer l.lease.mu.Unlock()
	if l.Cut.Load() {
		return nil, nil, errors.New("unreachable")
	}
	if l.lease.version == 0 {
		return nil, nil, apierrors.NewNotFound(leases, "lease")
	}
	l.seen = l.lease.version
	record := l.lease.record
	raw, err := json.Marshal(record)
	return &record, raw, err
}

// Create is part of resourcelock.Interface.
func (l *Lock) Create(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(0, record)
}

// Update is part of resourcelock.Interface.
func (l *Lock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(l.seen, record)
}

func (l *Lock) write(base int, record resourcelock.LeaderElectionRecord) error {
	l.lease.mu.Lock()
	defer l.lease.mu.Unlock()
	if l.Cut.Load() {
		return errors.New("unreachable")
	}
	if l.lease.version != base {
		return apierrors.NewConflict(leases, "lease", errors.New("changed"))
	}
	l.lease.version++
	l.seen, l.lease.record = l.lease.version, record
	return nil
}

// RecordEvent is part of resourcelock.Interface.
func (*Lock) RecordEvent(string) {}

// Identity is part of resourcelock.Interface.
func (l *Lock) Identity() string { return l.identity }

// Describe is part of resourcelock.Interface.
func (*Lock) Describe() string { return "lease" }
