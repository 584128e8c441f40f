package conformance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
)

// Offerer is a world that cannot carry out all its methods. An example is the world
// of an Executable.
type Offerer interface {
	// Offers reports whether the methods of the need's interface can be called.
	Offers(n Need) bool
}

// worldAs returns the world as T, the interface of the need. The result ok reports
// whether the world offers that interface.
func worldAs[T any](world any, n Need) (found T, ok bool) {
	if o, says := world.(Offerer); says && !o.Offers(n) {
		return found, false
	}
	found, ok = world.(T)
	return found, ok
}

// program is an Executable whose verbs are known. It implements all interfaces of worlds.
// It offers only the interfaces for which the Executable has all verbs.
type program struct {
	Executable

	verbs []string
	stuck atomic.Pointer[error] // error of ending a fault or a hold
}

var (
	_ Machines    = (*program)(nil)
	_ PowerSwitch = (*program)(nil)
	_ Renamer     = (*program)(nil)
	_ Retagger    = (*program)(nil)
	_ Meter       = (*program)(nil)
	_ Faulter     = (*program)(nil)
	_ Inventory   = (*program)(nil)
	_ Drifter     = (*program)(nil)
	_ Foreigner   = (*program)(nil)
	_ Viewer      = (*program)(nil)
	_ Holder      = (*program)(nil)
	_ Reserver    = (*program)(nil)
	_ Finder      = (*program)(nil)

	_ Identifier    = (*program)(nil)
	_ FaultClearer  = (*program)(nil)
	_ HoldReleaser  = (*program)(nil)
	_ ForeignFinder = (*program)(nil)
	_ AddressFinder = (*program)(nil)
	_ Offerer       = (*program)(nil)
)

// Offers implements Offerer.
func (p *program) Offers(n Need) bool {
	for _, v := range executableVerbs {
		if v.need == n {
			return !slices.ContainsFunc(v.verbs, func(verb string) bool { return !slices.Contains(p.verbs, verb) })
		}
	}
	return false
}

// These are the answers for which the package has no exported type.
type (
	leftovers struct {
		Resources []Resource `json:"resources"`
	}
	machines struct {
		Machines []Machine `json:"machines"`
	}
	balancers struct {
		LoadBalancers []LoadBalancer `json:"loadBalancers"`
	}
	foundAddresses struct {
		Addresses []Address `json:"addresses"`
	}
	identity struct {
		Identity string `json:"identity"`
	}
	existence struct {
		Exists *bool `json:"exists"`
	}
)

// ask starts the program, unless it does not know the verb.
func (p *program) ask(ctx context.Context, answer any, arguments ...string) error {
	if !slices.Contains(p.verbs, arguments[0]) {
		return fmt.Errorf("%w: %s has no verb %q", ErrCannot, p.Path, arguments[0])
	}
	return p.Executable.ask(ctx, answer, arguments...)
}

// do calls ask for a verb without a result.
func (p *program) do(ctx context.Context, arguments ...string) error {
	return p.ask(ctx, &struct{}{}, arguments...)
}

func (p *program) CreateMachine(ctx context.Context, name string) (Machine, error) {
	if stuck := p.stuckError(); stuck != nil {
		return Machine{}, stuck // Otherwise later failures would look like mistakes of the provider.
	}
	m := Machine{Name: name}
	if err := p.ask(ctx, &m, "create-machine", name); err != nil {
		return Machine{}, err
	}
	if m.ID == "" {
		return Machine{}, p.wrong("create-machine", `has no "id"`)
	}
	return m, nil
}

// Identity implements Identifier.
func (p *program) Identity(ctx context.Context) (string, error) {
	var answer identity
	err := p.ask(ctx, &answer, verbIdentity)
	if err == nil && answer.Identity == "" {
		err = p.wrong(verbIdentity, `has no "identity"`)
	}
	return answer.Identity, err
}

// FindMachine implements Finder.
func (p *program) FindMachine(ctx context.Context, name string) ([]Machine, error) {
	var answer machines
	err := p.ask(ctx, &answer, verbFind, name)
	if err == nil && answer.Machines == nil {
		err = p.wrong(verbFind, `has no "machines"; want [] if there are none`)
	}
	if err == nil && slices.ContainsFunc(answer.Machines, func(m Machine) bool { return m.ID == "" }) {
		err = p.wrong(verbFind, `has a machine without "id"`)
	}
	return answer.Machines, err
}

func (p *program) TerminateMachine(ctx context.Context, m Machine) error {
	return p.do(ctx, "terminate", m.ID)
}

func (p *program) StopMachine(ctx context.Context, m Machine) error { return p.do(ctx, "stop", m.ID) }

func (p *program) StartMachine(ctx context.Context, m Machine) error {
	return p.do(ctx, "start", m.ID)
}

func (p *program) RenameMachine(ctx context.Context, m Machine, name string) error {
	return p.do(ctx, "rename", m.ID, name)
}

func (p *program) UntagMachine(ctx context.Context, m Machine) error { return p.do(ctx, "untag", m.ID) }

func (p *program) Calls(ctx context.Context) (calls Calls, err error) {
	err = p.ask(ctx, &calls, "calls")
	return calls, err
}

func (p *program) SetFault(ctx context.Context, f Fault) (restore func(), err error) {
	err = p.do(ctx, "fault", string(f.Kind), strconv.Itoa(f.Skip), strconv.Itoa(f.Count), strconv.Itoa(int(f.RetryAfter.Seconds())))
	if err != nil {
		return nil, err
	}
	return func() {
		// The fault must be taken away even if the check's context has ended.
		if err := p.ClearFaults(context.WithoutCancel(ctx)); err != nil {
			p.stuck.Store(&err)
		}
	}, nil
}

// ClearFaults implements FaultClearer.
func (p *program) ClearFaults(ctx context.Context) error { return p.do(ctx, "clear") }

// HoldLoadBalancers implements Holder.
func (p *program) HoldLoadBalancers(ctx context.Context) (release func(), err error) {
	if err := p.do(ctx, verbHold); err != nil {
		return nil, err
	}
	return func() {
		// The hold must be ended even if the check's context has ended.
		if err := p.ReleaseLoadBalancers(context.WithoutCancel(ctx)); err != nil {
			p.stuck.Store(&err)
		}
	}, nil
}

// ReleaseLoadBalancers implements HoldReleaser.
func (p *program) ReleaseLoadBalancers(ctx context.Context) error { return p.do(ctx, verbRelease) }

// stuckError returns the error of the last attempt that has failed to end a fault or a
// hold, or nil. After such an error, the fault or the hold may go on.
func (p *program) stuckError() error {
	if stuck := p.stuck.Load(); stuck != nil {
		return *stuck
	}
	return nil
}

func (p *program) Leftovers(ctx context.Context, clusterName string) ([]Resource, error) {
	var answer leftovers
	err := p.ask(ctx, &answer, "list-leftovers", clusterName)
	if err == nil && answer.Resources == nil {
		err = p.wrong("list-leftovers", `has no "resources"; want [] if there are none`)
	}
	return answer.Resources, err
}

func (p *program) Drift(ctx context.Context, clusterName string, what Drift) error {
	return p.do(ctx, "drift", clusterName, string(what))
}

func (p *program) CreateForeign(ctx context.Context, kind ResourceKind, destination string) (Resource, error) {
	r := Resource{Kind: kind}
	err := p.ask(ctx, &r, "create-foreign", string(kind), destination)
	if err == nil && r.ID == "" {
		err = p.wrong("create-foreign", `has no "id"`)
	}
	return r, err
}

func (p *program) ForeignExists(ctx context.Context, r Resource) (bool, error) {
	var answer existence
	if err := p.ask(ctx, &answer, "foreign-exists", string(r.Kind), r.ID); err != nil {
		return false, err
	}
	if answer.Exists == nil {
		return false, p.wrong("foreign-exists", `has no "exists"`)
	}
	return *answer.Exists, nil
}

func (p *program) DeleteForeign(ctx context.Context, r Resource) error {
	return p.do(ctx, "delete-foreign", string(r.Kind), r.ID)
}

func (p *program) LoadBalancers(ctx context.Context, clusterName string) ([]LoadBalancer, error) {
	var answer balancers
	err := p.ask(ctx, &answer, "list-load-balancers", clusterName)
	if err == nil && answer.LoadBalancers == nil {
		err = p.wrong("list-load-balancers", `has no "loadBalancers"; want [] if there are none`)
	}
	return answer.LoadBalancers, err
}

func (p *program) ReserveAddress(ctx context.Context, name string) (address Address, err error) {
	err = p.ask(ctx, &address, "reserve-address", name)
	if err == nil && (address.ID == "" || address.IP == "") {
		err = p.wrong("reserve-address", `has no "id" or no "ip"`)
	}
	return address, err
}

func (p *program) ReleaseAddress(ctx context.Context, a Address) error {
	return p.do(ctx, "release-address", a.ID)
}

// FindForeign implements ForeignFinder.
func (p *program) FindForeign(ctx context.Context, kind ResourceKind, what string) ([]Resource, error) {
	var answer leftovers
	err := p.ask(ctx, &answer, verbFindForeign, string(kind), what)
	if err == nil && answer.Resources == nil {
		err = p.wrong(verbFindForeign, `has no "resources"; want [] if there are none`)
	}
	if err == nil && slices.ContainsFunc(answer.Resources, func(r Resource) bool { return r.ID == "" }) {
		err = p.wrong(verbFindForeign, `has a resource without "id"`)
	}
	for n := range answer.Resources {
		answer.Resources[n].Kind = kind
	}
	return answer.Resources, err
}

// FindAddress implements AddressFinder.
func (p *program) FindAddress(ctx context.Context, name string) ([]Address, error) {
	var answer foundAddresses
	err := p.ask(ctx, &answer, verbFindAddress, name)
	if err == nil && answer.Addresses == nil {
		err = p.wrong(verbFindAddress, `has no "addresses"; want [] if there are none`)
	}
	if err == nil && slices.ContainsFunc(answer.Addresses, func(a Address) bool { return a.ID == "" }) {
		err = p.wrong(verbFindAddress, `has an address without "id"`)
	}
	return answer.Addresses, err
}
