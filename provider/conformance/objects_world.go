package conformance

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// foreign lets the world create something as a person would, and deletes it after
// the check.
func (t *trial) foreign(foreigner Foreigner, kind ResourceKind, what string) Resource {
	t.mustBeNew(kind, what)
	entry := Entry{Kind: kind, Name: what, Foreign: true}
	t.begin(&entry)
	made, err := foreigner.CreateForeign(t.ctx, kind, what)
	t.mustCreate("create a "+string(kind)+" by hand", entry, err)
	entry.ID = made.ID
	t.begin(&entry)
	t.cleanup("delete the "+string(kind)+" that was made by hand", func(ctx context.Context) error {
		if err := foreigner.DeleteForeign(ctx, made); err != nil {
			return err
		}
		return t.ended(entry)
	})
	return made
}

// mustBeNew ends the check if the world finds such a resource already. If the creation
// then failed, the check would take that resource for its own and delete it.
func (t *trial) mustBeNew(kind ResourceKind, what string) {
	finder, ok := t.world.(ForeignFinder)
	if !ok {
		return
	}
	found, err := finder.FindForeign(t.ctx, kind, what)
	if !errors.Is(err, ErrCannot) {
		t.must("look for a "+string(kind)+" made by hand", err)
	}
	if len(found) > 0 {
		t.notRunf("a %s for %s exists already (ID %s), by hand or from another run: delete it, or clean up that run", kind, what, found[0].ID)
	}
}

// address lets the world reserve an address, and releases it after the check.
func (t *trial) address(reserver Reserver, name string) Address {
	entry := Entry{Kind: KindAddress, Name: name}
	t.begin(&entry)
	made, err := reserver.ReserveAddress(t.ctx, name)
	t.mustCreate("reserve an address", entry, err)
	entry.ID = made.ID
	t.begin(&entry)
	t.cleanup("release address "+made.IP, func(ctx context.Context) error {
		if err := reserver.ReleaseAddress(ctx, made); err != nil {
			return err
		}
		return t.ended(entry)
	})
	return made
}

// mustCreate ends the check if the world has not created something.
func (t *trial) mustCreate(what string, entry Entry, err error) {
	if errors.Is(err, ErrCannot) {
		t.must("ledger", t.ended(entry))
	} else if err != nil {
		t.lookAfterwards(entry)
	}
	t.must(what, err)
}

// lookAfterwards looks, after the check, for a thing whose creation has failed, and
// removes it if it exists. Until it is found, it stays in the ledger.
func (t *trial) lookAfterwards(entry Entry) {
	t.cleanup("look for "+entry.String()+", whose creation failed", func(ctx context.Context) error {
		done, err := (&cleaner{world: t.world}).remove(ctx, entry)
		if err != nil || done == wasGone {
			return err
		}
		return t.ended(entry)
	})
}

// setFault sets a fault. If another process can take faults away, the fault is in the
// ledger until it is taken away, because this process may be killed before.
func (t *trial) setFault(f Fault) (restore func(), err error) {
	entry := Entry{Kind: KindFault, Name: string(f.Kind)}
	_, lasts := worldAs[FaultClearer](t.world, NeedFaulter)
	if lasts {
		t.begin(&entry)
	}
	takeAway, err := t.world.(Faulter).SetFault(t.ctx, f) //nolint:forcetypeassert // the check says that it needs one
	switch {
	case !lasts:
		return takeAway, err
	case errors.Is(err, ErrCannot):
		return nil, errors.Join(err, t.ended(entry))
	case err != nil:
		t.lookAfterwards(entry)
		return nil, err
	}
	return sync.OnceFunc(func() {
		takeAway()
		if s, says := t.world.(interface{ stuckFault() error }); says && s.stuckFault() != nil {
			return // The fault stays in the ledger.
		}
		if err := t.ended(entry); err != nil {
			t.errorf("ledger: %v", err)
		}
	}), nil
}

// claim records that the ledger belongs to the account.
func (s *suite) claim(ctx context.Context) error {
	ledger, claims := s.options.Ledger.(interface{ Claim(account string) error })
	if !claims || s.options.ReadOnly {
		return nil
	}
	around, err := s.world(ctx)
	if err != nil {
		return err
	}
	defer s.leave(around)
	account, err := s.target.account(ctx, around)
	if err != nil {
		return err
	}
	return ledger.Claim(account)
}

// clearFaults takes away the faults of a check whose process was ended. Until that has
// worked, no other check is tried, because the faults would hit it.
func (s *suite) clearFaults(run context.Context) {
	left, listed, err := s.faultsLeft()
	if err != nil || s.options.ReadOnly || listed && len(left) == 0 {
		s.stuck = err
		return
	}
	around, err := s.world(context.WithoutCancel(run))
	if err != nil {
		s.stuck = err
		return
	}
	defer s.leave(around)
	clearer, ok := worldAs[FaultClearer](around, NeedFaulter)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run), s.options.Timeout)
	defer cancel()
	s.stuck = clearer.ClearFaults(ctx)
	for _, e := range left {
		if s.stuck == nil {
			s.stuck = s.options.Ledger.End(e)
		}
	}
}

// faultsLeft returns the faults in the ledger, and reports whether the ledger can be
// asked.
func (s *suite) faultsLeft() (left []Entry, listed bool, err error) {
	lister, listed := s.options.Ledger.(interface{ Left() ([]Entry, error) })
	if !listed {
		return nil, false, nil
	}
	left, err = lister.Left()
	return slices.DeleteFunc(left, func(e Entry) bool { return e.Kind != KindFault }), true, err
}
