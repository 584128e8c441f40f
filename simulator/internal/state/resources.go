package state

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// Resources holds all resources of one kind. R is the form in which they are stored, and
// W the form in which customers see them.
type Resources[R, W any] struct {
	*table[R]

	store *Store
	what  string // the word for one resource
	ids   series
	last  int        // guarded by store.mu; the number of the last ID
	show  func(*R) W // store.mu is held
}

// series is the prefix of the IDs of one kind of resource. No number of a series
// is used twice.
type series string

const (
	instanceIDs     series = "i-"
	loadBalancerIDs series = "lb-"
	staticIPIDs     series = "ip-"
	routeIDs        series = "rt-"
	volumeIDs       series = "vol-"
)

func (s series) id(number int) string { return fmt.Sprintf("%s%08d", s, number) }

// number returns the number in an ID, or false if the ID does not belong to this
// series.
func (s series) number(id string) (int, bool) {
	number, err := strconv.Atoi(strings.TrimPrefix(id, string(s)))
	return number, err == nil && number >= 0 && s.id(number) == id
}

// identity holds the ID, name and tags by which calls and faults can find a
// resource.
type identity struct {
	id, name string
	tags     map[string]string
	created  time.Time
}

// Query selects resources, and a page of them.
type Query struct {
	About Subject
	Limit int    // 0 means no limit
	After string // the last ID of the previous page
}

// Get returns one resource as a caller sees it.
func (r *Resources[R, W]) Get(ctx context.Context, id string, v Distortions) (shown W, err error) {
	err = missing(r.what, id)
	r.look(ctx, v, func(t *table[R]) {
		if row := t.row(id); row != nil {
			shown, err = r.show(row), nil
		}
	})
	return shown, err
}

// List returns one page of the resources as a caller sees them. If there are more pages,
// it also returns the last ID on this page.
func (r *Resources[R, W]) List(ctx context.Context, q Query, v Distortions) (all []W, next string) {
	asked := q.About.filter()
	var ids []string
	more := false
	all = []W{}
	r.look(ctx, v, func(t *table[R]) {
		for _, row := range t.after(q.After) {
			i := t.identify(*row)
			if !asked(i) || v.leavesOut(i) {
				continue
			}
			if q.Limit > 0 && len(all) == q.Limit {
				more = true
				return
			}
			all, ids = append(all, r.show(row)), append(ids, i.id)
		}
	})
	if left := v.cut(len(all)); left < len(all) {
		all, more = all[:left], false
	}
	if more {
		next = ids[len(ids)-1]
	}
	if v.doubled {
		again := slices.Clone(all)
		slices.Reverse(again)
		all = append(again, all...)
	}
	return all, next
}

// Identify completes a subject: it adds the ID and the name of each resource that the
// subject selects.
func (r *Resources[R, W]) Identify(ctx context.Context, about Subject) Subject {
	full := Subject{IDs: slices.Clone(about.IDs), Names: slices.Clone(about.Names), Tags: about.Tags}
	add := func(row *R) {
		i := r.identify(*row)
		full.IDs, full.Names = append(full.IDs, i.id), append(full.Names, i.name)
	}
	r.look(ctx, Distortions{}, func(t *table[R]) {
		for _, id := range about.IDs {
			if row := t.row(id); row != nil {
				add(row)
			}
		}
		if len(about.Names)+len(about.Tags) == 0 {
			return
		}
		asked := Subject{Names: about.Names, Tags: about.Tags}.filter()
		for _, row := range t.rows {
			if asked(t.identify(*row)) {
				add(row)
			}
		}
	})
	return full
}

// look calls the given function with the table as the caller sees it. The function must
// not keep the table.
func (r *Resources[R, W]) look(ctx context.Context, v Distortions, show func(*table[R])) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	now := r.store.settle(ctx)
	seen := r.table
	for _, d := range v.stale {
		seen = mix(seen, r.asOf(now.Add(-d.age)), d)
	}
	if len(v.invisible) > 0 {
		seen = seen.where(func(row *R) bool { return !v.hides(r.identify(*row), now) })
	}
	show(seen)
}

// mix combines two tables. It takes the resources that match the distortion from the
// second table, and all others from the first one.
func mix[T any](present, past *table[T], d distortion) *table[T] {
	mixed := present.where(func(row *T) bool { return !d.matches(present.identify(*row)) })
	for _, row := range past.all() {
		if i := past.identify(*row); d.matches(i) {
			mixed.replace(i.id, row)
		}
	}
	return mixed
}

// visible returns the row with the ID, or an error if the caller does not see it.
// store.mu is held.
func (r *Resources[R, W]) visible(id string, now time.Time, v Distortions) (*R, error) {
	row := r.row(id)
	if row == nil || v.hides(r.identify(*row), now) {
		return nil, missing(r.what, id)
	}
	return row, nil
}

// nextID returns the ID for a new resource. store.mu is held.
func (r *Resources[R, W]) nextID() string { return r.ids.id(r.last + 1) }

// add stores a resource that has the next ID. store.mu is held.
func (r *Resources[R, W]) add(ctx context.Context, now time.Time, row *R) (shown W, err error) {
	i := r.identify(*row)
	r.last++
	if err := commit(r.store, now, r.table, i.id, row); err != nil {
		r.last--
		return shown, err
	}
	klog.FromContext(ctx).Info("Resource created", "kind", r.what, "id", i.id, "name", i.name)
	return r.show(row), nil
}

// remove deletes a resource, unless the function may returns an error.
func (r *Resources[R, W]) remove(ctx context.Context, id string, v Distortions, may func(*R) error) (shown W, err error) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	now := r.store.settle(ctx)
	row, err := r.visible(id, now, v)
	if err != nil {
		return shown, err
	}
	shown = r.show(row)
	if err := may(row); err != nil {
		return shown, err
	}
	if err := commit(r.store, now, r.table, id, nil); err != nil {
		return shown, err
	}
	klog.FromContext(ctx).Info("Resource deleted", "kind", r.what, "id", id, "name", r.identify(*row).name)
	return shown, nil
}

// checkName requires that no other resource has the name. store.mu is held.
func (r *Resources[R, W]) checkName(id, name string) error {
	for _, row := range r.rows {
		if other := r.identify(*row); other.id != id && other.name == name {
			return conflict(wire.CodeAlreadyExists, "the name %s belongs to %s %s", name, r.what, other.id)
		}
	}
	return nil
}

// saved is the resources of one kind in the state file.
type saved[R any] struct {
	// Last is the last number that was used in an ID. No ID may be used twice.
	Last  int  `json:"last"`
	Items []*R `json:"items"`
}

// save returns the resources for the state file. store.mu is held.
func (r *Resources[R, W]) save() saved[R] { return saved[R]{Last: r.last, Items: r.all()} }

// restore fills the empty table. The function check puts a resource into its stored form,
// or says what is wrong with it.
func (r *Resources[R, W]) restore(from saved[R], check func(*R) error) error {
	const most = 1 << 53 // so that there is always a next number
	if from.Last < 0 || from.Last > most {
		return input.Invalid("last", "%d is not between 0 and %d", from.Last, most)
	}
	r.last = from.Last
	for n, row := range from.Items {
		err := input.Invalid("item", "is null")
		if row != nil {
			err = check(row)
		}
		if err == nil {
			id := r.identify(*row).id
			if number, ok := r.ids.number(id); !ok || number > r.last || r.row(id) != nil {
				err = input.Invalid("id", "%q is not a valid ID of the kind %s, is above the last one, or is there twice", id, r.what)
			}
			r.replace(id, row)
		}
		if err != nil {
			return fmt.Errorf("%s %d of %d: %w", r.what, n+1, len(from.Items), err)
		}
	}
	return nil
}

// Subject selects the resources that a call is about. Each of them has one of the IDs or
// names, and all of the tags.
type Subject struct {
	IDs, Names []string
	Tags       map[string]string
}

// IsEverything reports whether the subject has neither IDs nor names, for example
// in a list without a filter.
func (a Subject) IsEverything() bool { return len(a.IDs)+len(a.Names) == 0 }

// One returns the only ID, or the only name if there is no ID; else it returns "".
func (a Subject) One() string {
	switch {
	case len(a.IDs) == 1:
		return a.IDs[0]
	case len(a.IDs) == 0 && len(a.Names) == 1:
		return a.Names[0]
	}
	return ""
}

// Matches reports whether the pattern matches one of the IDs and names.
func (a Subject) Matches(pattern string) bool {
	matching := func(word string) bool { return matches(pattern, word) }
	return slices.ContainsFunc(a.IDs, matching) || slices.ContainsFunc(a.Names, matching)
}

// filter returns a function that reports whether a resource belongs to the subject.
func (a Subject) filter() func(identity) bool {
	ids, names := setOf(a.IDs), setOf(a.Names)
	return func(i identity) bool {
		if !a.IsEverything() && !ids[i.id] && !names[i.name] {
			return false
		}
		for key, value := range a.Tags {
			if has, ok := i.tags[key]; !ok || has != value {
				return false
			}
		}
		return true
	}
}

func setOf(words []string) map[string]bool {
	s := make(map[string]bool, len(words))
	for _, word := range words {
		s[word] = true
	}
	return s
}
