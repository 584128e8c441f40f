package state

import (
	"maps"
	"slices"
	"time"
)

// maxPast is the default for the maximum number of remembered changes of a table.
const maxPast = 10_000

// table holds the resources of one kind by ID, and their recent changes. A row is never
// changed, only replaced, so that it may be read without a lock.
type table[T any] struct {
	rows map[string]*T
	ids  []string    // IDs of all rows, ascending
	past []change[T] // the oldest first
	// longest is the maximum number of remembered changes.
	longest  int
	changes  int64 // number of changes ever remembered
	identify func(T) identity
}

// change is the replacement of a row. It has the old row, so that it can be undone.
type change[T any] struct {
	at     time.Time
	id     string
	before *T // nil: there was no row
}

func newTable[T any](identify func(T) identity) *table[T] {
	return &table[T]{rows: map[string]*T{}, longest: maxPast, identify: identify}
}

// row returns the row with the ID; nil if there is none.
func (t *table[T]) row(id string) *T { return t.rows[id] }

// after lists the rows with an ID greater than id, in order.
func (t *table[T]) after(id string) []*T {
	i, found := slices.BinarySearch(t.ids, id)
	if found {
		i++
	}
	rows := make([]*T, 0, len(t.ids)-i)
	for _, id := range t.ids[i:] {
		rows = append(rows, t.rows[id])
	}
	return rows
}

// all lists all rows, in order.
func (t *table[T]) all() []*T { return t.after("") }

// replace sets a row, or removes it if row is nil.
func (t *table[T]) replace(id string, row *T) {
	i, found := slices.BinarySearch(t.ids, id)
	switch {
	case row == nil && found:
		t.ids = slices.Delete(t.ids, i, i+1)
		delete(t.rows, id)
	case row == nil:
	case found:
		t.rows[id] = row
	default:
		t.ids = slices.Insert(t.ids, i, id)
		t.rows[id] = row
	}
}

// exchange replaces a row, and returns the change. The caller must pass the change to
// t.remember, or to the function keep.
func (t *table[T]) exchange(at time.Time, id string, row *T) change[T] {
	made := change[T]{at: at, id: id, before: t.rows[id]}
	t.replace(id, row)
	return made
}

// remember adds a change to t.past. If t.past is full, remember first drops the oldest
// tenth of it.
func (t *table[T]) remember(made change[T]) {
	if len(t.past) >= t.longest {
		t.past = slices.Delete(t.past, 0, t.longest/10)
	}
	t.past = append(t.past, made)
	t.changes++
}

// since returns the changes that followed the first n changes. It returns false if it
// does not know all of these changes.
func (t *table[T]) since(n int64) ([]change[T], bool) {
	first := t.changes - int64(len(t.past))
	if n < first || n > t.changes {
		return nil, false
	}
	return t.past[n-first:], true
}

// asOf returns the table as it was at the given time. If that is too long ago, it returns
// the earliest state that is remembered.
func (t *table[T]) asOf(at time.Time) *table[T] {
	was := newTable(t.identify)
	was.ids = slices.Clone(t.ids)
	maps.Copy(was.rows, t.rows)
	for _, c := range slices.Backward(t.past) {
		if !c.at.After(at) {
			break
		}
		was.replace(c.id, c.before)
	}
	return was
}

// where returns a table with the rows for which keep(row) is true.
func (t *table[T]) where(keep func(*T) bool) *table[T] {
	kept := newTable(t.identify)
	for _, id := range t.ids {
		if row := t.rows[id]; keep(row) {
			kept.ids = append(kept.ids, id)
			kept.rows[id] = row
		}
	}
	return kept
}
