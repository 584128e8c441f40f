package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// errReadOnly is the answer to a call that a check is not allowed to make.
var errReadOnly = errors.New("the suite does not let this check change the cloud")

// These types wrap parts of a provider and refuse each change. In every run, they are
// used for the checks that do not change the cloud (Check.Writes is false). A run with
// Options.ReadOnly has only such checks, so it cannot change the cloud.
type (
	readingLoadBalancer struct{ cloudprovider.LoadBalancer }
	readingRoutes       struct{ cloudprovider.Routes }
)

func (readingLoadBalancer) EnsureLoadBalancer(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	return nil, errReadOnly
}

func (readingLoadBalancer) UpdateLoadBalancer(context.Context, string, *corev1.Service, []*corev1.Node) error {
	return errReadOnly
}

func (readingLoadBalancer) EnsureLoadBalancerDeleted(context.Context, string, *corev1.Service) error {
	return errReadOnly
}

func (readingRoutes) CreateRoute(context.Context, string, string, *cloudprovider.Route) error {
	return errReadOnly
}

func (readingRoutes) DeleteRoute(context.Context, string, *cloudprovider.Route) error {
	return errReadOnly
}

// Lender is a world that lends existing machines. A run with Options.ReadOnly uses
// only such machines.
type Lender interface {
	// LendMachine returns a different machine at each call. Its field Borrowed is
	// true. Once no machine is left, LendMachine returns ErrCannot.
	LendMachine(ctx context.Context) (Machine, error)
}

// readingWorld is the world for a run with Options.ReadOnly. It has only existing
// machines.
type readingWorld struct{ lender Lender }

// reading returns the part of a world that a run with Options.ReadOnly may use.
func reading(world any) any {
	lender, ok := world.(Lender)
	if !ok {
		return nil
	}
	return readingWorld{lender}
}

// CreateMachine implements Machines.
func (w readingWorld) CreateMachine(ctx context.Context, _ string) (Machine, error) {
	m, err := w.lender.LendMachine(ctx)
	if err == nil && !m.Borrowed {
		err = errReadOnly
	}
	return m, err
}

// TerminateMachine implements Machines.
func (readingWorld) TerminateMachine(context.Context, Machine) error { return ErrCannot }

// existing is a world of existing machines.
type existing struct {
	mu    sync.Mutex
	names []string // names of the machines that are not lent yet; guarded by mu
}

// Existing returns a world that lends existing machines. The arguments are the names
// of the machines' Nodes. Checks ask about the machines and put them behind load
// balancers, but never change them. The world is for one check: a Target makes a new
// world for each check.
func Existing(names ...string) any { return &existing{names: names} }

// LendMachine implements Lender.
func (e *existing) LendMachine(context.Context) (Machine, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.names) == 0 {
		return Machine{}, fmt.Errorf("%w: it needs more machines than were named", ErrCannot)
	}
	m := Machine{Name: e.names[0], ID: e.names[0], Borrowed: true}
	e.names = e.names[1:]
	return m, nil
}

// CreateMachine implements Machines.
func (e *existing) CreateMachine(ctx context.Context, _ string) (Machine, error) {
	return e.LendMachine(ctx)
}

// TerminateMachine implements Machines.
func (*existing) TerminateMachine(context.Context, Machine) error { return ErrCannot }
