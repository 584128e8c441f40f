package simulator

import (
	"context"
	"slices"
	"time"
)

// kind is one kind of resource, as it is seen by what all kinds share.
type kind struct {
	name      string // the key in the log
	endpoints []endpoint
	// identify completes what a call asks for: see identified.
	identify func(context.Context, subject) subject
	// note writes down what a call was about.
	note func(*CallRecord, string)
}

// kinds are all kinds of resources.
func (c *Cloud) kinds() []kind {
	return []kind{
		{"instance", c.instanceEndpoints(), identified(c, c.instances), func(r *CallRecord, word string) { r.Instance = word }},
		{"loadBalancer", c.loadBalancerEndpoints(), identified(c, c.loadBalancers), func(r *CallRecord, word string) { r.LoadBalancer = word }},
		{"route", c.routeEndpoints(), identified(c, c.routes), func(r *CallRecord, word string) { r.Route = word }},
		{"staticIP", c.staticIPEndpoints(), identified(c, c.staticIPs), func(r *CallRecord, word string) { r.StaticIP = word }},
	}
}

// resource is a row of a table, of any kind.
type resource interface{ identity() identity }

// identity is what calls and faults can know a resource by.
type identity struct {
	id, name string
	tags     map[string]string
	created  time.Time
}

// look shows the resources of a kind as a caller sees them. The table must not
// be kept; its rows may be.
func look[T resource](ctx context.Context, c *Cloud, of *table[T], v view, show func(*table[T])) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.settle(ctx)
	seen := of
	for _, l := range v.stale {
		seen = mix(seen, of.asOf(now.Add(-l.age)), l)
	}
	if len(v.invisible) > 0 {
		seen = seen.where(func(row *T) bool { return !v.hides((*row).identity(), now) })
	}
	show(seen)
}

// mix is the present, except for what the lens shows as it was in the past.
func mix[T resource](present, past *table[T], l lens) *table[T] {
	mixed := present.where(func(row *T) bool { return !l.matches((*row).identity()) })
	for _, row := range past.all() {
		if i := (*row).identity(); l.matches(i) {
			mixed.replace(i.id, row)
		}
	}
	return mixed
}

// seen is one resource as a caller sees it; nil if the caller sees none.
func seen[T resource](ctx context.Context, c *Cloud, of *table[T], v view, id string) *T {
	var row *T
	look(ctx, c, of, v, func(t *table[T]) { row = t.row(id) })
	return row
}

// identified adds to what a call asks for the names that belong to the IDs,
// and the IDs that belong to the names and tags.
func identified[T resource](c *Cloud, of *table[T]) func(context.Context, subject) subject {
	return func(ctx context.Context, s subject) subject {
		full := subject{ids: slices.Clone(s.ids), names: slices.Clone(s.names), tags: s.tags}
		look(ctx, c, of, view{}, func(t *table[T]) {
			for _, row := range meant(s, t) {
				i := (*row).identity()
				full.ids, full.names = append(full.ids, i.id), append(full.names, i.name)
			}
		})
		return full
	}
}

// meant are the rows that a call asks for in particular.
func meant[T resource](s subject, t *table[T]) []*T {
	var rows []*T
	for _, id := range s.ids {
		if row := t.row(id); row != nil {
			rows = append(rows, row)
		}
	}
	if len(s.names)+len(s.tags) == 0 {
		return rows
	}
	asked := subject{names: s.names, tags: s.tags}.filter()
	for _, row := range t.rows {
		if asked((*row).identity()) {
			rows = append(rows, row)
		}
	}
	return rows
}
