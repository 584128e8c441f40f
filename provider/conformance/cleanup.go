package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	cloudprovider "k8s.io/cloud-provider"
)

// Cleanup removes the things that a ledger lists and the cloud still has, the last
// entry first. The provider removes the things that it has created, and the world
// removes the rest. Cleanup finds the things by the names in the ledger, so it can be
// repeated. For each thing that is gone, it passes a line to tell. The error joins the
// errors about all things that may still exist. These things stay in the ledger.
func Cleanup(ctx context.Context, target Target, ledger *FileLedger, tell func(string)) error {
	left, err := ledger.Left()
	if err != nil || len(left) == 0 {
		return err
	}
	w := &cleaner{target: target}
	defer w.end()
	if err := w.begin(ctx, ledger); err != nil {
		return err
	}
	// First, Cleanup takes faults away, because they would hit New and the calls that follow.
	// Then it lets held load balancers become ready, because some clouds delete a load
	// balancer only once it is ready.
	slices.SortStableFunc(left, func(a, b Entry) int { return cmp.Compare(rank(a), rank(b)) })
	var errs []error
	for _, e := range left {
		if err := w.makeProvider(ctx, e); err != nil {
			return errors.Join(append(errs, err)...)
		}
		done, err := w.remove(ctx, e)
		if err == nil {
			err = ledger.End(e)
		}
		if err == nil {
			tell(fmt.Sprintf("%v: %s", e, done))
			continue
		}
		errs = append(errs, fmt.Errorf("%v: %w", e, err))
		// While a fault is set, the cloud may say that existing things are gone.
		if e.Kind == KindFault {
			return errors.Join(append(errs, errors.New("nothing else was touched, because the cloud's answers may be wrong"))...)
		}
	}
	return errors.Join(errs...)
}

func rank(e Entry) int {
	first := lastingKinds()
	if at := slices.Index(first, e.Kind); at >= 0 {
		return at
	}
	return len(first)
}

// cleaner removes the things that a run has left.
type cleaner struct {
	target   Target
	world    any
	provider cloudprovider.Interface
	stop     context.CancelFunc
}

func (w *cleaner) begin(ctx context.Context, ledger *FileLedger) (err error) {
	if w.target.World != nil {
		if w.world, err = w.target.World(ctx); err != nil {
			return fmt.Errorf("world: %w", err)
		}
	}
	account, err := w.target.account(ctx, w.world)
	if err != nil {
		return err
	}
	return ledger.belongs(account)
}

// makeProvider makes the provider, unless it exists or the entry needs none.
func (w *cleaner) makeProvider(ctx context.Context, e Entry) (err error) {
	if w.provider != nil || slices.Contains(lastingKinds(), e.Kind) {
		return nil
	}
	ctx, w.stop = context.WithCancel(ctx)
	w.provider, err = w.target.New(ctx, w.world)
	return err
}

func (w *cleaner) end() {
	if w.stop != nil {
		w.stop()
	}
}

// The results of remove.
const (
	wasRemoved  = "removed"
	wasReleased = "released"
	wasGone     = "was not there any more"
)

// remove removes one thing. It returns wasRemoved, wasReleased or wasGone.
func (w *cleaner) remove(ctx context.Context, e Entry) (done string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	switch {
	case e.Foreign:
		return w.removeForeign(ctx, e)
	case e.Kind == KindAddress:
		return w.removeAddress(ctx, e)
	case e.Kind == KindFault:
		return w.clearFaults(ctx)
	case e.Kind == KindHold:
		return w.releaseHolds(ctx)
	case e.Kind == KindMachine && !strings.HasPrefix(e.Name, namePrefix):
		return "", errors.New("the suite gives no machine this name; it was not touched")
	case e.Kind == KindMachine:
		return w.removeMachine(ctx, e)
	case e.Kind == KindLoadBalancer && e.Service != nil:
		return w.removeLoadBalancer(ctx, e)
	case e.Kind == KindRoute && e.Route != nil && e.Route.TargetNode != noSuchNode && !strings.HasPrefix(string(e.Route.TargetNode), namePrefix):
		return "", errors.New("the suite gives no machine the name of its target; it was not touched")
	case e.Kind == KindRoute && e.Route != nil:
		return w.removeRoute(ctx, e)
	}
	return "", errors.New("the ledger does not say how it is removed; look for it by its name")
}

// removeMachine terminates a machine that has the name in the ledger. An ID alone is
// not enough: in another account, another machine may have the same ID.
func (w *cleaner) removeMachine(ctx context.Context, e Entry) (string, error) {
	terminator, ok := worldAs[Machines](w.world, NeedMachines)
	if !ok {
		return "", errors.New("only a world that creates machines can terminate it")
	}
	found, err := w.find(ctx, e.Name)
	switch {
	case errors.Is(err, ErrCannot) && e.ID == "":
		return "", errors.New("its creation was interrupted, and the world cannot find a machine by its name; look for it by hand")
	case errors.Is(err, ErrCannot):
		return w.removeByID(ctx, e, terminator)
	case err != nil:
		return "", fmt.Errorf("look for it by its name: %w", err)
	}
	done := wasGone
	for _, m := range found {
		if m.Name != e.Name || e.ID != "" && m.ID != e.ID {
			continue
		}
		if err := terminator.TerminateMachine(ctx, m); err != nil {
			return "", err
		}
		done = wasRemoved
	}
	if done == wasGone && e.ProviderID != "" {
		return w.notFoundByName(ctx, e)
	}
	return done, nil
}

// find asks the world for the machines with the name.
func (w *cleaner) find(ctx context.Context, name string) ([]Machine, error) {
	finder, ok := w.world.(Finder)
	if !ok {
		return nil, ErrCannot
	}
	return finder.FindMachine(ctx, name)
}

// removeByID terminates the machine with the ID in the ledger, but only if the provider
// finds a machine by the name in the ledger.
func (w *cleaner) removeByID(ctx context.Context, e Entry, terminator Machines) (string, error) {
	v2, ok := w.provider.InstancesV2()
	if !ok {
		return "", errors.New("the provider offers no InstancesV2, so the machine cannot be found by its name")
	}
	found, err := v2.InstanceMetadata(ctx, identified(e.Name, ""))
	switch {
	case errors.Is(err, cloudprovider.InstanceNotFound):
		return w.notFoundByName(ctx, e)
	case err != nil:
		return "", fmt.Errorf("look for it by its name: %w", err)
	case found == nil:
		return "", errors.New("look for it by its name: the provider returned nil and no error")
	case e.ProviderID != "" && found.ProviderID != e.ProviderID:
		return "", fmt.Errorf("the machine of this name has the provider ID %s, but the ledger has %s; it was not touched", found.ProviderID, e.ProviderID)
	}
	return wasRemoved, terminator.TerminateMachine(ctx, Machine{Name: e.Name, ID: e.ID, ProviderID: e.ProviderID})
}

// notFoundByName returns an error if a machine still exists under another name.
func (w *cleaner) notFoundByName(ctx context.Context, e Entry) (string, error) {
	v2, ok := w.provider.InstancesV2()
	if !ok || e.ProviderID == "" {
		return wasGone, nil
	}
	exists, err := v2.InstanceExists(ctx, identified(e.Name, e.ProviderID))
	if err != nil {
		return "", fmt.Errorf("look for it by its provider ID: %w", err)
	}
	if exists {
		return "", fmt.Errorf("a machine with the provider ID %s exists under another name; it was not touched", e.ProviderID)
	}
	return wasGone, nil
}

// removeLoadBalancer asks the provider to delete the load balancer. It does so
// even if the provider does not find the load balancer, because parts of it may
// exist.
func (w *cleaner) removeLoadBalancer(ctx context.Context, e Entry) (string, error) {
	lb, ok := w.provider.LoadBalancer()
	if !ok {
		return "", errors.New("the provider offers no LoadBalancer")
	}
	_, existed, err := lb.GetLoadBalancer(ctx, e.Cluster, e.Service.DeepCopy())
	if err != nil {
		return "", err
	}
	err = repeatedly(ctx, func() error { return lb.EnsureLoadBalancerDeleted(ctx, e.Cluster, e.Service.DeepCopy()) })
	if err != nil {
		return "", err
	}
	if !existed {
		return wasGone, nil
	}
	return wasRemoved, nil
}

// removeRoute deletes the routes with the destination and the Node in the ledger.
func (w *cleaner) removeRoute(ctx context.Context, e Entry) (string, error) {
	routes, ok := w.provider.Routes()
	if !ok {
		return "", errors.New("the provider offers no Routes")
	}
	all, err := routes.ListRoutes(ctx, e.Cluster)
	if err != nil {
		return "", err
	}
	done := wasGone
	var other error
	for _, r := range all {
		if r == nil || !sameCIDR(r.DestinationCIDR, e.Route.DestinationCIDR) {
			continue
		}
		if r.TargetNode != e.Route.TargetNode {
			other = fmt.Errorf("the route to %s leads to the Node %q, but the route in the ledger leads to %q; it was not touched", r.DestinationCIDR, r.TargetNode, e.Route.TargetNode)
			continue
		}
		if err := repeatedly(ctx, func() error { return routes.DeleteRoute(ctx, e.Cluster, r) }); err != nil {
			return "", err
		}
		done = wasRemoved
	}
	if other != nil && done == wasGone {
		return "", other
	}
	return done, nil
}

const (
	// removalTimeout is the time during which the removal of one thing is tried again.
	// Clouds refuse to delete a thing that they are still creating.
	removalTimeout = 3 * time.Minute
	// removalPause is the pause between two tries.
	removalPause = 2 * time.Second
)

// repeatedly repeats a removal until it returns nil or NotImplemented. If that takes too
// long, it returns the last error of the removal.
func repeatedly(ctx context.Context, remove func() error) error {
	ctx, cancel := context.WithTimeout(ctx, removalTimeout)
	defer cancel()
	for {
		err := remove()
		if err == nil || errors.Is(err, cloudprovider.NotImplemented) {
			return err
		}
		pause := time.NewTimer(removalPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return err
		}
	}
}
