package kit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/provider/kit"
)

// thing is a load balancer, or a part of one, in the clouds of these tests.
type thing struct {
	id, name, owner, parent string
	targets                 string
	pending                 string // the cloud's work that is not done yet
	left                    int    // calls until that work is done
	hidden                  int    // calls until lists show the thing
}

// account is a cloud that fails some of its calls.
type account struct {
	things map[string]*thing
	made   int

	uniqueNames bool
	lag         int // number of calls during which lists do not show a new thing
	work        int // number of calls during which a change is pending; 0: none
	// fails has the numbers of the calls that fail, counted from 1. If the field lost is
	// true, the cloud carries out these calls, and only their replies are lost.
	fails map[int]bool
	lost  bool
	calls int
}

var errTimeout = errors.New("timeout")

// call makes one call of the cloud. Each call lets time pass.
func (a *account) call(do func() error) error {
	a.calls++
	for id, t := range a.things {
		t.hidden = max(t.hidden-1, 0)
		if t.left = max(t.left-1, 0); t.left == 0 && t.pending != "" {
			if t.pending == "deleting" {
				delete(a.things, id)
			}
			t.pending = ""
		}
	}
	if !a.fails[a.calls] {
		return do()
	}
	if a.lost {
		_ = do()
	}
	return errTimeout
}

func (a *account) list(matches func(*thing) bool) (found []thing, err error) {
	err = a.call(func() error {
		for _, id := range slices.Sorted(maps.Keys(a.things)) {
			if t := a.things[id]; matches(t) && t.hidden == 0 {
				found = append(found, *t)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

var errTaken = errors.New("409 the name is taken")

func (a *account) create(wanted thing) (created thing, err error) {
	err = a.call(func() error {
		for _, t := range a.things {
			if a.uniqueNames && t.name == wanted.name {
				return errTaken
			}
		}
		a.made++
		wanted.id, wanted.hidden = "lb-"+strconv.Itoa(a.made), a.lag
		a.start(&wanted, "creating")
		a.things[wanted.id] = &wanted
		created = wanted
		return nil
	})
	if err != nil {
		return thing{}, err
	}
	return created, nil
}

func (a *account) start(t *thing, pending string) {
	if a.work > 0 {
		t.pending, t.left = pending, a.work
	}
}

var errLocked = errors.New("409 the object is immutable")

func (a *account) set(id, targets string) (changed thing, err error) {
	err = a.call(func() error {
		t := a.things[id]
		if t.pending != "" {
			return errLocked
		}
		t.targets = targets
		a.start(t, "updating")
		changed = *t
		return nil
	})
	if err != nil {
		return thing{}, err
	}
	return changed, nil
}

func (a *account) remove(id string) error {
	return a.call(func() error {
		t, ok := a.things[id]
		switch {
		case !ok:
			return nil // 404
		case t.pending != "":
			return errLocked
		case a.work > 0:
			a.start(t, "deleting")
		default:
			delete(a.things, id)
		}
		return nil
	})
}

// resource returns a Resource as a provider would write it, for one resource of an owner.
func (a *account) resource(kind, owner, parent, targets string) kit.Resource[thing] {
	wanted := thing{name: kind + "-" + owner, owner: owner, parent: parent, targets: targets}
	return kit.Resource[thing]{
		Kind:  kind,
		Pause: time.Second,
		Owned: func(context.Context) ([]thing, error) {
			return a.list(func(t *thing) bool { return t.owner == owner && strings.HasPrefix(t.name, kind) })
		},
		Create: func(context.Context) (thing, error) {
			created, err := a.create(wanted)
			if errors.Is(err, errTaken) {
				err = fmt.Errorf("%w: %w", kit.ErrExists, err)
			}
			return created, err
		},
		Change: func(_ context.Context, is thing) (thing, error) {
			if is.targets == targets {
				return is, nil
			}
			return a.set(is.id, targets)
		},
		Delete: func(_ context.Context, is thing) error { return a.remove(is.id) },
		State: func(t thing) kit.ResourceState {
			return kit.ResourceState{ID: t.id, Pending: t.pending, Locked: true}
		},
	}
}

// vendor is a provider for one kind of cloud. Its field cloud is a function that creates
// that cloud.
type vendor struct {
	cloud  func() *account
	ensure func(ctx context.Context, a *account, targets string) error
	remove func(ctx context.Context, a *account) error
	kinds  []string
}

var vendors = map[string]vendor{
	// This cloud sets labels at creation, and its names are unique. When a call
	// returns, its change is complete. Its lists lag behind.
	"LikeHcloud": {
		cloud: func() *account { return &account{uniqueNames: true, lag: 3} },
		ensure: func(ctx context.Context, a *account, targets string) error {
			_, err := a.resource("balancer", "uid-1", "", targets).Ensure(ctx)
			return err
		},
		remove: func(ctx context.Context, a *account) error {
			return a.resource("balancer", "uid-1", "", "").Remove(ctx)
		},
		kinds: []string{"balancer"},
	},
	// Names are not unique. Changes and deletions go on in the background, and in
	// the meantime the cloud refuses other changes. A load balancer has parts.
	"LikeOpenStack": {
		cloud: func() *account { return &account{work: 7} },
		ensure: func(ctx context.Context, a *account, targets string) error {
			balancer, err := a.resource("balancer", "uid-1", "", "").Ensure(ctx)
			if err != nil {
				return err
			}
			listener, err := a.resource("listener", "uid-1", balancer.id, "80").Ensure(ctx)
			if err != nil {
				return err
			}
			_, err = a.resource("pool", "uid-1", listener.id, targets).Ensure(ctx)
			return err
		},
		remove: func(ctx context.Context, a *account) error {
			for _, kind := range []string{"pool", "listener", "balancer"} {
				if err := a.resource(kind, "uid-1", "", "").Remove(ctx); err != nil {
					return err
				}
			}
			return nil
		},
		kinds: []string{"balancer", "listener", "pool"},
	},
	// This cloud has no labels, and its lists do not lag. Names are unique.
	"Tiny": {
		cloud: func() *account { return &account{uniqueNames: true} },
		ensure: func(ctx context.Context, a *account, targets string) error {
			r := a.resource("balancer", "uid-1", "", targets)
			r.Owned = func(context.Context) ([]thing, error) {
				return a.list(func(t *thing) bool { return t.name == "balancer-uid-1" })
			}
			_, err := r.Ensure(ctx)
			return err
		},
		remove: func(ctx context.Context, a *account) error {
			return a.resource("balancer", "uid-1", "", "").Remove(ctx)
		},
		kinds: []string{"balancer"},
	},
}

// Any two calls fail, before or after the cloud has carried them out. Nevertheless, in the
// end there is exactly one load balancer, with the wanted settings, and nothing is left
// after its removal. The things of other owners stay as they are.
func TestResourceSurvivesAnyTwoFailures(t *testing.T) {
	for name, v := range vendors {
		t.Run(name, func(t *testing.T) {
			for _, lost := range []bool{false, true} {
				for first := 0; first <= 25; first++ {
					for second := first; second <= 25; second++ {
						a := v.cloud()
						a.things = map[string]*thing{"other": {id: "other", name: "balancer-uid-2", owner: "uid-2", targets: "theirs"}}
						a.lost = lost
						what := fmt.Sprintf("calls %d and %d fail, carried out: %v", first, second, lost)
						phase := func(step, targets string, do func() error) {
							a.calls, a.fails = 0, map[int]bool{first: true, second: true}
							untilDone(t, what+": "+step, do)
							a.fails = nil
							v.check(t, what+": "+step, a, targets)
						}
						for range first { // the wanted targets may change at any time
							_ = v.ensure(t.Context(), a, "0")
						}
						phase("create", "1,2", func() error { return v.ensure(t.Context(), a, "1,2") })
						phase("change", "2,3", func() error { return v.ensure(t.Context(), a, "2,3") })
						phase("remove", "", func() error { return v.remove(t.Context(), a) })
						if t.Failed() {
							return
						}
					}
				}
			}
		})
	}
}

// untilDone repeats the call until it succeeds, as the daemon does.
func untilDone(t *testing.T, what string, do func() error) {
	t.Helper()
	var err error
	for range 120 {
		if err = do(); err == nil {
			return
		}
		_, pending := errors.AsType[*api.RetryError](err)
		if !pending && !errors.Is(err, errTimeout) {
			break
		}
	}
	t.Errorf("%s: %v", what, err)
}

// check compares the things in the account with the wanted ones: one of each kind, or
// nothing.
func (v vendor) check(t *testing.T, what string, a *account, targets string) {
	t.Helper()
	var want, got []string
	if targets != "" {
		want = v.kinds
	}
	for _, is := range a.things {
		kind, owner, _ := strings.Cut(is.name, "-")
		switch {
		case owner == "uid-2":
			if is.targets != "theirs" {
				t.Errorf("%s: another owner's was changed: %+v", what, is)
			}
			continue
		case kind == v.kinds[len(v.kinds)-1] && is.targets != targets:
			t.Errorf("%s: it has the targets %s", what, is.targets)
		}
		got = append(got, kind)
	}
	if slices.Sort(got); !slices.Equal(want, got) || a.things["other"] == nil {
		t.Errorf("%s: there is %v, want %v", what, got, want)
	}
}

func TestNothingIsChangedWithoutADifference(t *testing.T) {
	a := &account{things: map[string]*thing{}}
	r := a.resource("balancer", "uid-1", "", "1")
	for round, want := range []int{2, 1, 1} { // calls: a list, and at first a creation
		a.calls = 0
		if _, err := r.Ensure(t.Context()); err != nil || a.calls != want {
			t.Errorf("round %d: %d calls, %v", round, a.calls, err)
		}
	}
	found, err := r.Find(t.Context())
	if err != nil || found == nil || found.targets != "1" {
		t.Errorf("got %v, %v", found, err)
	}
	if none, err := a.resource("balancer", "uid-3", "", "").Find(t.Context()); none != nil || err != nil {
		t.Errorf("got %v, %v", none, err)
	}
	a.calls = 0
	if err := a.resource("balancer", "uid-3", "", "").Remove(t.Context()); err != nil || a.calls != 1 {
		t.Errorf("%d calls to remove nothing, %v", a.calls, err)
	}
}

func TestSeveralOfOneOwnerAreLeftAlone(t *testing.T) {
	a := &account{things: map[string]*thing{"b": {id: "b", name: "balancer", owner: "u"}, "a": {id: "a", name: "balancer", owner: "u"}}}
	r := a.resource("balancer", "u", "", "1")
	const want = "2 balancers belong to this owner: a, b; delete those that are not needed"
	_, err := r.Ensure(t.Context())
	_, findErr := r.Find(t.Context())
	for _, err := range []error{err, findErr} {
		if err == nil || err.Error() != want || provider.Classify(err).Kind != provider.Invalid {
			t.Errorf("got %v", err)
		}
	}
	if len(a.things) != 2 || a.things["a"].targets != "" {
		t.Errorf("left are %v", a.things)
	}
	if err := r.Remove(t.Context()); err != nil || len(a.things) != 0 { // the owner is gone, so both are deleted
		t.Errorf("remove: %v", err)
	}
}

// The pages of a list overlap and show the only balancer twice.
func TestOneThatIsListedTwiceIsOne(t *testing.T) {
	a := &account{things: map[string]*thing{"a": {id: "a", name: "balancer", owner: "u"}}}
	r := a.resource("balancer", "u", "", "1")
	once := r.Owned
	r.Owned = func(ctx context.Context) ([]thing, error) {
		all, err := once(ctx)
		return slices.Concat(all, all), err
	}
	if got, err := r.Ensure(t.Context()); err != nil || got.id != "a" || a.things["a"].targets != "1" || a.made > 0 {
		t.Errorf("got %+v, %v; %d were made", got, err, a.made)
	}
}

func TestNameThatAnotherOwnerHas(t *testing.T) {
	a := &account{uniqueNames: true, things: map[string]*thing{"x": {id: "x", name: "balancer-u", owner: "other"}}}
	r := a.resource("balancer", "u", "", "1")
	foreign := errors.New("it belongs to another cluster")
	r.Holder = func(context.Context) ([]thing, error) { return nil, foreign }
	if _, err := r.Ensure(t.Context()); !errors.Is(err, foreign) {
		t.Errorf("got %v", err)
	}
	r.Holder = nil
	if _, err := r.Ensure(t.Context()); err == nil || a.things["x"].targets != "" {
		t.Errorf("got %v, %v", err, a.things["x"])
	}
}

func TestRemoveGoesOnAfterAnError(t *testing.T) {
	a := &account{things: map[string]*thing{"a": {id: "a", name: "balancer", owner: "u"}, "b": {id: "b", name: "balancer", owner: "u"}}, fails: map[int]bool{2: true}}
	err := a.resource("balancer", "u", "", "").Remove(t.Context())
	if !errors.Is(err, errTimeout) || len(a.things) != 1 {
		t.Errorf("%v, left are %v", err, a.things)
	}
	a.fails = map[int]bool{a.calls + 3: true} // the list after the deletion
	if err := a.resource("balancer", "u", "", "").Remove(t.Context()); !errors.Is(err, errTimeout) {
		t.Errorf("without the cloud's answer that nothing is left: %v", err)
	}
}
