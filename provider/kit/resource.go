package kit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrExists means that a resource already has the name or the mark, so the cloud
// has refused to create another one. The error of Resource.Create wraps it.
var ErrExists = errors.New("it exists already")

// Resource is one resource of the cloud that belongs to one owner, such as the load
// balancer of a Service, or one of its listeners. Ensure and Remove keep nothing in
// memory: after a lost reply, a crash or a change of the leader, the next call finds
// the resource and goes on. T is the cloud's type for the resource.
//
// This works only if the call that creates the resource also marks it with its owner.
// The mark is a tag, or a name that is made of the cluster's name and the UID of the
// Service. If a later call set the mark, a crash between the two calls would leave a
// resource that nobody finds.
type Resource[T any] struct {
	// Kind is the word for the resource in messages, such as "load balancer".
	Kind string
	// Owned asks the cloud for all resources with the owner's mark, in whatever state.
	// If the cloud's list may be incomplete, Owned returns an error. Lists may lag
	// behind and not show a new resource yet. Ensure adopts the new resource
	// nevertheless, because Create returns ErrExists. Remove, however, does not see the
	// new resource. If the cloud finds a new resource by its name at once, Owned should
	// therefore look for the name.
	Owned func(ctx context.Context) ([]T, error)
	// Create creates the wanted resource.
	Create func(ctx context.Context) (T, error)
	// Holder asks the cloud for the resource that has the name or the mark, after Create
	// has returned ErrExists. It returns an error if that resource belongs to another
	// owner, and an empty list if the cloud does not show the resource yet. If Holder is
	// nil, Owned is called instead.
	Holder func(ctx context.Context) ([]T, error)
	// Change makes the calls that turn the resource into the wanted one, and returns
	// the changed resource. It makes no call if nothing differs.
	Change func(ctx context.Context, is T) (T, error)
	// Delete deletes the resource. It returns nil if the resource does not exist any
	// more.
	Delete func(ctx context.Context, is T) error
	// State describes the resource.
	State func(T) ResourceState
	// Pause is the time after which the caller tries again while the resource is
	// pending.
	Pause time.Duration
}

// ResourceState is the part of a resource's state that decides the next step.
type ResourceState struct {
	ID string
	// Pending names the work of the cloud that is not done yet, such as "creating".
	// It is empty if the resource is ready. Otherwise Ensure returns an error made
	// by the function Pending.
	Pending string
	// Locked means that the cloud accepts no change while the resource is pending.
	Locked bool
}

// Ensure finds the resource or creates it, changes what differs, and returns the
// resource. While the resource is pending, Ensure also returns an error made by
// Pending. If several resources have the owner's mark, the error names them. None of
// them is changed or deleted, because only a person can know which one is in use.
func (r Resource[T]) Ensure(ctx context.Context) (T, error) {
	var none T
	owned, err := r.Owned(ctx)
	if err != nil {
		return none, fmt.Errorf("list %ss: %w", r.Kind, err)
	}
	is, err := r.only(owned)
	if len(owned) == 0 {
		is, err = r.create(ctx)
	}
	if err != nil {
		return none, err
	}
	if state := r.State(is); state.Locked && state.Pending != "" {
		return is, r.pending(state)
	}
	// Even a resource from r.create may differ from the wanted one. An earlier call, whose
	// reply was lost, may have created it, and the owner may have changed since then.
	changed, err := r.Change(ctx, is)
	if err != nil {
		return none, fmt.Errorf("update %s %s: %w", r.Kind, r.State(is).ID, err)
	}
	if state := r.State(changed); state.Pending != "" {
		return changed, r.pending(state)
	}
	return changed, nil
}

// Find returns the resource, or nil if the cloud has none. If there are several, it
// returns an error, as Ensure does.
func (r Resource[T]) Find(ctx context.Context) (*T, error) {
	owned, err := r.Owned(ctx)
	if err != nil {
		return nil, fmt.Errorf("list %ss: %w", r.Kind, err)
	}
	if len(owned) == 0 {
		return nil, nil
	}
	is, err := r.only(owned)
	if err != nil {
		return nil, err
	}
	return &is, nil
}

// Remove deletes all resources with the owner's mark. It returns nil only after the
// cloud has answered that there is none. While the cloud is still deleting, Remove
// returns errors made by Pending. If resources need each other, remove them in the
// reverse order of Ensure.
func (r Resource[T]) Remove(ctx context.Context) error {
	owned, err := r.Owned(ctx)
	if err != nil {
		return fmt.Errorf("list %ss: %w", r.Kind, err)
	}
	if len(owned) == 0 {
		return nil
	}
	var failed []error
	for _, is := range owned {
		state := r.State(is)
		if state.Locked && state.Pending != "" {
			failed = append(failed, r.pending(state))
		} else if err := r.Delete(ctx, is); err != nil {
			failed = append(failed, fmt.Errorf("delete %s %s: %w", r.Kind, state.ID, err))
		}
	}
	if len(failed) > 0 {
		return Join(failed...)
	}
	left, err := r.Owned(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("list %ss: %w", r.Kind, err)
	case len(left) > 0:
		return Pending(r.Pause, "%s %s: the cloud still shows it after its deletion", r.Kind, strings.Join(r.ids(left), ", "))
	}
	return nil
}

func (r Resource[T]) create(ctx context.Context) (T, error) {
	created, err := r.Create(ctx)
	if err == nil || !errors.Is(err, ErrExists) {
		if err != nil {
			err = fmt.Errorf("create %s: %w", r.Kind, err)
		}
		return created, err
	}
	holder := r.Holder
	if holder == nil {
		holder = r.Owned
	}
	found, listErr := holder(ctx)
	switch {
	case listErr != nil:
		return created, fmt.Errorf("%s: %w", r.Kind, listErr)
	case len(found) == 0:
		return created, Pending(r.Pause, "%s: it exists already, but the cloud does not show it yet", r.Kind)
	}
	return r.only(found)
}

func (r Resource[T]) only(found []T) (T, error) {
	var none T
	if len(found) == 0 {
		return none, nil
	}
	ids := r.ids(found)
	if len(ids) == 1 {
		return found[0], nil // Pages of a list may overlap, so one resource may be in the list twice.
	}
	return none, Invalidf("%d %ss belong to this owner: %s; delete those that are not needed", len(ids), r.Kind, strings.Join(ids, ", "))
}

// ids returns the IDs without duplicates. Resources without an ID all count as different.
func (r Resource[T]) ids(all []T) (ids []string) {
	for _, is := range all {
		ids = append(ids, r.State(is).ID)
	}
	slices.Sort(ids)
	return slices.CompactFunc(ids, func(a, b string) bool { return a == b && a != "" })
}

func (r Resource[T]) pending(state ResourceState) error {
	return Pending(r.Pause, "%s %s is %s", r.Kind, state.ID, state.Pending)
}
