package state

import (
	"context"
	"slices"
	"time"
)

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

// look calls the given function with a table as the caller sees it. The function must
// not keep the table, but it may keep the rows.
func look[T any](ctx context.Context, s *Store, of *table[T], v Distortions, show func(*table[T])) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.settle(ctx)
	seen := of
	for _, d := range v.stale {
		seen = mix(seen, of.asOf(now.Add(-d.age)), d)
	}
	if len(v.invisible) > 0 {
		seen = seen.where(func(row *T) bool { return !v.hides(of.identify(*row), now) })
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

// seen returns one resource as a caller sees it; nil if the caller does not see
// it.
func seen[T any](ctx context.Context, s *Store, of *table[T], v Distortions, id string) *T {
	var row *T
	look(ctx, s, of, v, func(t *table[T]) { row = t.row(id) })
	return row
}

// page returns one page of a table as a caller sees it. If there are more
// pages, it also returns the last ID on this page.
func page[T any](ctx context.Context, s *Store, of *table[T], q Query, v Distortions) (rows []*T, next string) {
	asked := q.About.filter()
	more := false
	look(ctx, s, of, v, func(t *table[T]) {
		for _, row := range t.after(q.After) {
			i := t.identify(*row)
			if !asked(i) || v.leavesOut(i) {
				continue
			}
			if q.Limit > 0 && len(rows) == q.Limit {
				more = true
				return
			}
			rows = append(rows, row)
		}
	})
	if left := v.cut(len(rows)); left < len(rows) {
		rows = rows[:left]
		more = false
	}
	if more {
		next = of.identify(*rows[len(rows)-1]).id
	}
	if v.doubled {
		again := slices.Clone(rows)
		slices.Reverse(again)
		rows = append(again, rows...)
	}
	return rows, next
}

// identified completes a subject: it adds the ID and the name of each resource that the
// subject selects.
func identified[T any](ctx context.Context, s *Store, of *table[T], about Subject) Subject {
	full := Subject{IDs: slices.Clone(about.IDs), Names: slices.Clone(about.Names), Tags: about.Tags}
	look(ctx, s, of, Distortions{}, func(t *table[T]) {
		for _, row := range named(about, t) {
			i := t.identify(*row)
			full.IDs, full.Names = append(full.IDs, i.id), append(full.Names, i.name)
		}
	})
	return full
}

// named returns the rows that have one of the subject's IDs, and the rows that match its
// names and tags.
func named[T any](about Subject, t *table[T]) []*T {
	var rows []*T
	for _, id := range about.IDs {
		if row := t.row(id); row != nil {
			rows = append(rows, row)
		}
	}
	if len(about.Names)+len(about.Tags) == 0 {
		return rows
	}
	asked := Subject{Names: about.Names, Tags: about.Tags}.filter()
	for _, row := range t.rows {
		if asked(t.identify(*row)) {
			rows = append(rows, row)
		}
	}
	return rows
}
