package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Finder is a world that finds a machine by its name. No check needs it. The suite
// uses it to remove machines after a run or a creation was interrupted.
type Finder interface {
	// FindMachine returns the machines with exactly this name.
	FindMachine(ctx context.Context, name string) ([]Machine, error)
}

// ForeignFinder is a Foreigner that can find the resources that it has created. No check
// needs it. The suite uses it to see that a resource is new, and to remove the resource
// after an interruption.
type ForeignFinder interface {
	// FindForeign returns only the resources that CreateForeign has created for these
	// arguments. A route to the same CIDR may belong to somebody else.
	FindForeign(ctx context.Context, kind ResourceKind, what string) ([]Resource, error)
}

// AddressFinder is a Reserver that finds an address by its name. No check needs it. The
// suite uses it to release addresses after an interruption.
type AddressFinder interface {
	// FindAddress returns the addresses that were reserved under exactly this name.
	FindAddress(ctx context.Context, name string) ([]Address, error)
}

// errByHand means that the world cannot find a thing by its name. The ID in the ledger is
// not enough: in another account, another thing may have the same ID.
var errByHand = fmt.Errorf("%w: find it by its name; look for it by hand", ErrCannot)

// removeForeign removes a resource that the world has created with CreateForeign.
func (w *cleaner) removeForeign(ctx context.Context, e Entry) (string, error) {
	foreigner, ok := worldAs[Foreigner](w.world, NeedForeigner)
	if !ok {
		return "", errors.New("only a world that creates foreign resources can remove them")
	}
	finder, ok := w.world.(ForeignFinder)
	if !ok {
		return "", errByHand
	}
	found, err := finder.FindForeign(ctx, e.Kind, e.Name)
	if err != nil {
		return "", notFound(err)
	}
	if e.ID == "" && len(found) > 1 {
		return "", fmt.Errorf("the world has found %d, but the suite has created at most one; look for it by hand", len(found))
	}
	done := wasGone
	for _, r := range found {
		if e.ID != "" && r.ID != e.ID {
			continue
		}
		if err := repeatedly(ctx, func() error { return foreigner.DeleteForeign(ctx, r) }); err != nil {
			return "", err
		}
		done = wasRemoved
	}
	if done == wasRemoved || e.ID == "" {
		return done, nil
	}
	exists, err := foreigner.ForeignExists(ctx, Resource{Kind: e.Kind, ID: e.ID, Name: e.Name})
	if err != nil {
		return "", fmt.Errorf("look for it by its ID: %w", err)
	}
	if exists {
		return "", fmt.Errorf("a %s with the ID %s exists under another name; it was not touched", e.Kind, e.ID)
	}
	return wasGone, nil
}

// removeAddress releases a reserved address.
func (w *cleaner) removeAddress(ctx context.Context, e Entry) (string, error) {
	reserver, ok := worldAs[Reserver](w.world, NeedReserver)
	if !ok {
		return "", errors.New("only a world that reserves addresses can release them")
	}
	finder, ok := w.world.(AddressFinder)
	if !ok {
		return "", errByHand
	}
	if !strings.HasPrefix(e.Name, namePrefix) {
		return "", errors.New("the suite gives no address this name; it was not touched")
	}
	found, err := finder.FindAddress(ctx, e.Name)
	if err != nil {
		return "", notFound(err)
	}
	done := wasGone
	for _, a := range found {
		if e.ID != "" && a.ID != e.ID {
			continue
		}
		// Clouds refuse to release an address while they are still deleting the
		// load balancer that has it.
		if err := repeatedly(ctx, func() error { return reserver.ReleaseAddress(ctx, a) }); err != nil {
			return "", err
		}
		done = wasRemoved
	}
	return done, nil
}

// clearFaults takes away all faults.
func (w *cleaner) clearFaults(ctx context.Context) (string, error) {
	end := endOf(w.world, KindFault)
	if end == nil {
		return "", errors.New("only a world that sets faults can take them away; until then the cloud's answers may be wrong")
	}
	return wasRemoved, end(ctx)
}

// releaseHolds lets all load balancers become ready.
func (w *cleaner) releaseHolds(ctx context.Context) (string, error) {
	end := endOf(w.world, KindHold)
	if end == nil {
		return "", errors.New("only a world that keeps load balancers from becoming ready can release them; until then new ones stay pending")
	}
	return wasReleased, end(ctx)
}

// notFound returns the error for a world that could not search by name.
func notFound(err error) error {
	if errors.Is(err, ErrCannot) {
		return errByHand
	}
	return fmt.Errorf("look for it by its name: %w", err)
}
