package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Serve carries out one verb. The program of an Executable can call Serve if its world
// is written in Go. The program has to print the result as JSON. If the error wraps
// ErrCannot, as it does for an unknown verb, the program has to exit with code 3. The
// function clearFaults takes away all faults, including those that other processes have
// set. If clearFaults is nil, Serve does not know the verbs for faults. If the world
// does not implement HoldReleaser, Serve does not know the verbs for holds.
func Serve(ctx context.Context, world any, arguments []string, clearFaults func(context.Context) error) (any, error) {
	s := server{world: world, clear: clearFaults}
	if len(arguments) == 0 || arguments[0] == "verbs" {
		return map[string]any{"verbs": s.known()}, nil
	}
	verb, arguments := arguments[0], arguments[1:]
	served, ok := servedVerbs[verb]
	if !ok || !slices.Contains(s.known(), verb) {
		return nil, fmt.Errorf("verb %q: %w", verb, ErrCannot)
	}
	if len(arguments) != served.arguments {
		return nil, fmt.Errorf("the verb %q takes %d arguments, got %d", verb, served.arguments, len(arguments))
	}
	answer, err := served.do(ctx, s, arguments)
	if answer == nil {
		answer = struct{}{}
	}
	return answer, err
}

// server carries out verbs for another process.
type server struct {
	world any
	clear func(context.Context) error
}

// known returns the verbs that this world can carry out.
func (s server) known() []string {
	var all []string
	for _, v := range executableVerbs {
		if v.need.metBy(s.world) && s.takesBack(v.need) {
			all = append(all, v.verbs...)
		}
	}
	if _, ok := s.world.(Identifier); ok {
		all = append(all, verbIdentity)
	}
	if _, ok := s.world.(Finder); ok {
		all = append(all, verbFind)
	}
	if _, ok := s.world.(ForeignFinder); ok {
		all = append(all, verbFindForeign)
	}
	if _, ok := s.world.(AddressFinder); ok {
		all = append(all, verbFindAddress)
	}
	return all
}

// takesBack returns false if the need is for faults or holds, and another process
// cannot end them. Such a need cannot be met, because the process that begins a fault
// or a hold exits before the check ends.
func (s server) takesBack(n Need) bool {
	_, releases := s.world.(HoldReleaser)
	return (n != NeedFaulter || s.clear != nil) && (n != NeedHolder || releases)
}

// servedVerb is a verb with its number of arguments.
type servedVerb struct {
	arguments int
	do        func(ctx context.Context, s server, arguments []string) (any, error)
}

//nolint:forcetypeassert // the method known has checked the interfaces
var servedVerbs = map[string]servedVerb{
	"create-machine": {1, func(ctx context.Context, s server, a []string) (any, error) {
		return s.world.(Machines).CreateMachine(ctx, a[0])
	}},
	"terminate": {1, func(ctx context.Context, s server, a []string) (any, error) {
		return nil, s.world.(Machines).TerminateMachine(ctx, Machine{ID: a[0]})
	}},
	verbIdentity: {0, func(ctx context.Context, s server, _ []string) (any, error) {
		account, err := s.world.(Identifier).Identity(ctx)
		return identity{account}, err
	}},
	verbFind: {1, func(ctx context.Context, s server, a []string) (any, error) {
		found, err := s.world.(Finder).FindMachine(ctx, a[0])
		return machines{append([]Machine{}, found...)}, err
	}},
	verbFindForeign: {2, func(ctx context.Context, s server, a []string) (any, error) {
		found, err := s.world.(ForeignFinder).FindForeign(ctx, ResourceKind(a[0]), a[1])
		return leftovers{append([]Resource{}, found...)}, err
	}},
	verbFindAddress: {1, func(ctx context.Context, s server, a []string) (any, error) {
		found, err := s.world.(AddressFinder).FindAddress(ctx, a[0])
		return foundAddresses{append([]Address{}, found...)}, err
	}},
	"stop": {1, func(ctx context.Context, s server, a []string) (any, error) {
		return nil, s.world.(PowerSwitch).StopMachine(ctx, Machine{ID: a[0]})
	}},
	"start": {1, func(ctx context.Context, s server, a []string) (any, error) {
		return nil, s.world.(PowerSwitch).StartMachine(ctx, Machine{ID: a[0]})
	}},
	"rename": {2, func(ctx context.Context, s server, a []string) (any, error) {
		return nil, s.world.(Renamer).RenameMachine(ctx, Machine{ID: a[0]}, a[1])
	}},
	"untag": {1, func(ctx context.Context, s server, a []string) (any, error) {
		return nil, s.world.(Retagger).UntagMachine(ctx, Machine{ID: a[0]})
	}},
	"calls": {0, func(ctx context.Context, s server, _ []string) (any, error) { return s.world.(Meter).Calls(ctx) }},
	"fault": {4, func(ctx context.Context, s server, a []string) (any, error) {
		skip, err1 := strconv.Atoi(a[1])
		count, err2 := strconv.Atoi(a[2])
		after, err3 := strconv.Atoi(a[3])
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		// The function that ends the fault is not used, because the fault has to last
		// longer than this process.
		_, err := s.world.(Faulter).SetFault(ctx, Fault{FaultKind(a[0]), skip, count, time.Duration(after) * time.Second})
		return nil, err
	}},
	"clear": {0, func(ctx context.Context, s server, _ []string) (any, error) { return nil, s.clear(ctx) }},
	"list-leftovers": {1, func(ctx context.Context, s server, a []string) (any, error) {
		left, err := s.world.(Inventory).Leftovers(ctx, a[0])
		return leftovers{append([]Resource{}, left...)}, err
	}},
	"drift": {2, func(ctx context.Context, s server, a []string) (any, error) {
		return nil, s.world.(Drifter).Drift(ctx, a[0], Drift(a[1]))
	}},
	"create-foreign": {2, func(ctx context.Context, s server, a []string) (any, error) {
		return s.world.(Foreigner).CreateForeign(ctx, ResourceKind(a[0]), a[1])
	}},
	"foreign-exists": {2, func(ctx context.Context, s server, a []string) (any, error) {
		is, err := s.world.(Foreigner).ForeignExists(ctx, Resource{Kind: ResourceKind(a[0]), ID: a[1]})
		return existence{&is}, err
	}},
	"list-load-balancers": {1, func(ctx context.Context, s server, a []string) (any, error) {
		all, err := s.world.(Viewer).LoadBalancers(ctx, a[0])
		return balancers{append([]LoadBalancer{}, all...)}, err
	}},
	"reserve-address": {1, func(ctx context.Context, s server, a []string) (any, error) {
		return s.world.(Reserver).ReserveAddress(ctx, a[0])
	}},
	"release-address": {1, func(ctx context.Context, s server, a []string) (any, error) {
		return nil, s.world.(Reserver).ReleaseAddress(ctx, Address{ID: a[0]})
	}},
	verbHold: {0, func(ctx context.Context, s server, _ []string) (any, error) {
		// The function that ends the hold is not used, because the hold has to last
		// longer than this process.
		_, err := s.world.(Holder).HoldLoadBalancers(ctx)
		return nil, err
	}},
	verbRelease: {0, func(ctx context.Context, s server, _ []string) (any, error) {
		return nil, s.world.(HoldReleaser).ReleaseLoadBalancers(ctx)
	}},
	"delete-foreign": {2, func(ctx context.Context, s server, a []string) (any, error) {
		return nil, s.world.(Foreigner).DeleteForeign(ctx, Resource{Kind: ResourceKind(a[0]), ID: a[1]})
	}},
}
