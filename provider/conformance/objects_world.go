package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// foreign lets the world create a resource as a person would, and deletes the
// resource after the check.
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

// mustBeNew ends the check if the world already has a resource of this kind and name.
// The reason is the cleanup after a failed creation: it looks for the resource by name, and
// would delete the older one.
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

// mustCreate ends the check if the creation of a thing has failed.
func (t *trial) mustCreate(what string, entry Entry, err error) {
	if errors.Is(err, ErrCannot) {
		t.must("ledger", t.ended(entry))
	} else if err != nil {
		t.lookAfterwards(entry)
	}
	t.must(what, err)
}

// lookAfterwards handles a thing whose creation has failed. After the check, it
// looks for the thing and removes it if it exists. Until the thing is found, its
// entry stays in the ledger.
func (t *trial) lookAfterwards(entry Entry) {
	t.cleanup("look for "+entry.String()+", whose creation failed", func(ctx context.Context) error {
		done, err := (&cleaner{world: t.world}).remove(ctx, entry)
		if err != nil || done == wasGone {
			return err
		}
		return t.ended(entry)
	})
}

// setFault sets a fault. The fault stays until the returned function is called.
func (t *trial) setFault(f Fault) (restore func(), err error) {
	set := func() (func(), error) { return t.world.(Faulter).SetFault(t.ctx, f) } //nolint:forcetypeassert // the check says that it needs one
	if _, lasts := worldAs[FaultClearer](t.world, NeedFaulter); !lasts {
		return set()
	}
	return t.listedUntilEnd(Entry{Kind: KindFault, Name: string(f.Kind)}, set)
}

// setHold keeps new load balancers from becoming ready. The hold lasts until the
// returned function is called.
func (t *trial) setHold() (release func(), err error) {
	set := func() (func(), error) { return t.world.(Holder).HoldLoadBalancers(t.ctx) } //nolint:forcetypeassert // the check says that it needs one
	if _, lasts := worldAs[HoldReleaser](t.world, NeedHolder); !lasts {
		return set()
	}
	return t.listedUntilEnd(Entry{Kind: KindHold, Name: "loadBalancers"}, set)
}

// listedUntilEnd begins a fault or a hold by calling the given function. In this world, a
// fault or a hold stays even if the process is killed. So the entry stays in the ledger
// until the returned function has ended the fault or the hold.
func (t *trial) listedUntilEnd(entry Entry, begin func() (end func(), err error)) (end func(), err error) {
	t.begin(&entry)
	endInWorld, err := begin()
	switch {
	case errors.Is(err, ErrCannot):
		return nil, errors.Join(err, t.ended(entry))
	case err != nil:
		t.lookAfterwards(entry)
		return nil, err
	}
	return sync.OnceFunc(func() {
		endInWorld()
		if w, says := t.world.(interface{ stuckError() error }); says && w.stuckError() != nil {
			// The entry stays in the ledger. From now on, a check may fail because of
			// this fault or hold, and not because of the provider.
			t.errorf("world: the %s %s could not be ended: %v", entry.Kind, entry.Name, w.stuckError())
			return
		}
		if err := t.ended(entry); err != nil {
			t.errorf("ledger: %v", err)
		}
	}), nil
}

// begin claims the ledger. It also ends faults and holds that a killed run has left,
// because they would affect the first check.
func (s *suite) begin(ctx context.Context) error {
	if err := s.claim(ctx); err != nil {
		return err
	}
	if left, _, err := s.lasting(); err != nil || len(left) > 0 {
		s.takeBack(ctx)
	}
	return nil
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

// takeBack ends the faults and holds that earlier checks have left. Until all of them are
// ended, no other check is run, because they could change its result.
func (s *suite) takeBack(run context.Context) {
	s.stuck = nil
	left, listed, err := s.lasting()
	if err == nil && (s.options.ReadOnly || listed && len(left) == 0) {
		return
	}
	var around any
	if err == nil {
		around, err = s.world(context.WithoutCancel(run))
	}
	if err != nil {
		s.stuck = fmt.Errorf("the faults and holds that an earlier check has left could not be ended: %w", err)
		return
	}
	defer s.leave(around)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run), s.options.Timeout)
	defer cancel()
	for _, kind := range lastingKinds() {
		of := slices.DeleteFunc(slices.Clone(left), func(e Entry) bool { return e.Kind != kind })
		if listed && len(of) == 0 {
			continue
		}
		s.stuck = errors.Join(s.stuck, s.takeBackAll(ctx, around, kind, of))
	}
}

// takeBackAll ends all faults or all holds. It also ends their entries in the ledger.
func (s *suite) takeBackAll(ctx context.Context, around any, kind ResourceKind, listed []Entry) error {
	end := endOf(around, kind)
	switch {
	case end == nil && len(listed) == 0:
		return nil // In such a world, faults and holds end with the process that has set them.
	case end == nil:
		end = func(context.Context) error { return errors.New("only the world of the run that began it can end it") }
	}
	err := end(ctx)
	for _, e := range listed {
		if err == nil {
			err = s.options.Ledger.End(e)
		}
	}
	if err == nil {
		return nil
	}
	what := map[ResourceKind]string{
		KindFault: "a fault that an earlier check has set could not be taken away",
		KindHold:  "load balancers that an earlier check keeps from becoming ready could not be released",
	}
	return fmt.Errorf("%s: %w", what[kind], err)
}

// endOf returns the method that ends all faults or all holds, including those of other
// processes. It returns nil if the world has no such method.
func endOf(world any, kind ResourceKind) func(context.Context) error {
	if clearer, ok := worldAs[FaultClearer](world, NeedFaulter); ok && kind == KindFault {
		return clearer.ClearFaults
	}
	if releaser, ok := worldAs[HoldReleaser](world, NeedHolder); ok && kind == KindHold {
		return releaser.ReleaseLoadBalancers
	}
	return nil
}

// lastingKinds returns the kinds of things that affect the whole cloud until they are
// ended. They are ended in this order.
func lastingKinds() []ResourceKind { return []ResourceKind{KindFault, KindHold} }

// lasting returns the faults and holds in the ledger. The second result reports whether the
// ledger can list its entries.
func (s *suite) lasting() (left []Entry, listed bool, err error) {
	lister, listed := s.options.Ledger.(interface{ Left() ([]Entry, error) })
	if !listed {
		return nil, false, nil
	}
	left, err = lister.Left()
	return slices.DeleteFunc(left, func(e Entry) bool { return !slices.Contains(lastingKinds(), e.Kind) }), true, err
}
