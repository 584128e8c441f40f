package route

import (
	"container/heap"
	"maps"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// touched has the CIDRs, and the names of the Nodes, that have to be planned again.
type touched struct {
	cidrs map[netip.Prefix]bool
	nodes map[string]bool
}

func newTouched() touched {
	return touched{cidrs: map[netip.Prefix]bool{}, nodes: map[string]bool{}}
}

// table has the current plan of each CIDR and Node, and the dependencies between them.
// So after a change, only the CIDRs and Nodes that the change concerns are planned
// again. Each listing leads to a new table.
type table struct {
	// cidrs has the CIDRs that each Node claims, by the name of the Node. A Node that is
	// being deleted claims none.
	cidrs     map[string][]netip.Prefix
	claimants map[netip.Prefix]map[string]bool // names of Nodes
	routes    map[netip.Prefix][]route
	// targets has the CIDRs of the routes that lead to a Node, by the name of the
	// Node.
	targets map[string][]netip.Prefix
	// lengths counts the claimed CIDRs by family and length. The family true is IPv4.
	lengths map[bool]map[int]count
	// common has each length of the claimed CIDRs, by family, and whether it is common
	// (see commonLengths).
	common map[bool]map[int]bool
	// parts has the CIDRs with claims or routes by each longer CIDR of the claimed lengths
	// that contains them.
	parts map[netip.Prefix]map[netip.Prefix]bool

	shares map[netip.Prefix]share
	views  map[string]view
	strays map[identity]time.Time
	counts counts
	stray  map[netip.Prefix]bool // CIDRs with stray routes
	due    agenda
}

// newTable joins all Nodes and all listed routes. Nothing is planned yet.
func newTable(o observed) *table {
	t := &table{
		cidrs: map[string][]netip.Prefix{}, claimants: map[netip.Prefix]map[string]bool{}, routes: map[netip.Prefix][]route{}, targets: map[string][]netip.Prefix{},
		lengths: map[bool]map[int]count{true: {}, false: {}}, parts: map[netip.Prefix]map[netip.Prefix]bool{},
		shares: map[netip.Prefix]share{}, views: map[string]view{}, strays: map[identity]time.Time{}, counts: counts{missing: map[string]int{}}, stray: map[netip.Prefix]bool{},
	}
	for _, r := range o.memory.listing.routes {
		cidrs := t.targets[r.target]
		if r.cidr.IsValid() {
			t.routes[r.cidr] = append(t.routes[r.cidr], r)
			cidrs = append(cidrs, r.cidr)
		} else {
			t.counts.unreadable++
		}
		t.targets[r.target] = cidrs
	}
	for _, node := range o.nodes {
		t.update(&o, node.Name)
	}
	t.common = t.commonLengths()
	t.findParts()
	return t
}

// all returns everything that can be planned.
func (t *table) all(m *memory) touched {
	all := newTouched()
	for cidr := range m.failures {
		all.cidrs[cidr] = true
	}
	for cidr := range t.claimants {
		all.cidrs[cidr] = true
	}
	for cidr := range t.routes {
		all.cidrs[cidr] = true
	}
	for name := range t.cidrs {
		all.nodes[name] = true
	}
	for cidr := range t.shares { // A CIDR or Node that is gone has to be planned once more.
		all.cidrs[cidr] = true
	}
	for name := range t.views {
		all.nodes[name] = true
	}
	return all
}

// isTarget reports whether a listed route leads to this name.
func (t *table) isTarget(name string) bool {
	_, is := t.targets[name]
	return is
}

// update brings the claims of the Node with this name up to date in the table.
func (t *table) update(o *observed, name string) {
	for _, cidr := range t.cidrs[name] {
		if nodes := t.claimants[cidr]; nodes[name] { // A Node can have a CIDR twice.
			if delete(nodes, name); len(nodes) == 0 {
				delete(t.claimants, cidr)
				t.claim(o, cidr, -1)
			}
		}
	}
	delete(t.cidrs, name)
	node := o.node(name)
	if node == nil {
		return
	}
	t.cidrs[name] = claimed(node)
	for _, cidr := range t.cidrs[name] {
		if t.claimants[cidr] == nil {
			t.claimants[cidr] = map[string]bool{}
			t.claim(o, cidr, 1)
		}
		t.claimants[cidr][name] = true
	}
}

// claimed returns the CIDRs that a Node claims.
func claimed(node *corev1.Node) []netip.Prefix {
	if node == nil || node.DeletionTimestamp != nil {
		return nil
	}
	return cidrsOf(node)
}

// reach returns the given CIDRs and Nodes, and all others that are connected with them.
// Two are connected if the plan of one depends on the other, directly or through
// others. A Node depends on its CIDRs. A CIDR depends on the Nodes that claim it, and
// on the CIDRs that overlap with it.
func (t *table) reach(from touched) touched {
	reached, todo := newTouched(), slices.Collect(maps.Keys(from.cidrs))
	node := func(name string) {
		if !reached.nodes[name] {
			reached.nodes[name] = true
			todo = append(todo, t.cidrs[name]...)
		}
	}
	for name := range from.nodes {
		node(name)
	}
	for len(todo) > 0 {
		cidr := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if reached.cidrs[cidr] {
			continue
		}
		reached.cidrs[cidr] = true
		for name := range t.claimants[cidr] {
			node(name)
		}
		todo = append(todo, t.overlaps(cidr)...)
	}
	return reached
}

// change records the changes in the table. It returns the CIDRs and Nodes that have to
// be planned.
func (t *table) change(o *observed, changes touched) touched {
	from := touched{cidrs: maps.Clone(changes.cidrs), nodes: maps.Clone(changes.nodes)}
	for _, d := range t.due.take(o.now) {
		switch {
		case !t.isCurrent(d):
		case d.name != "":
			from.nodes[d.name] = true
		default:
			from.cidrs[d.cidr] = true
		}
	}
	for name := range changes.nodes {
		for _, cidr := range slices.Concat(t.cidrs[name], t.targets[name]) {
			from.cidrs[cidr] = true
		}
		t.update(o, name)
	}
	if common := t.commonLengths(); !maps.EqualFunc(common, t.common, maps.Equal) {
		t.common = common
		t.findParts()
		return t.all(&o.memory)
	}
	reached, late := t.reach(from), newTouched()
	for name := range reached.nodes {
		if !slices.Equal(t.cidrs[name], claimed(o.node(name))) { // The informer has not reported the change yet.
			late.nodes[name] = true
		}
	}
	if len(late.nodes) == 0 {
		return reached
	}
	maps.Copy(late.cidrs, reached.cidrs)
	maps.Copy(late.nodes, reached.nodes)
	return t.change(o, late)
}

// plan makes a plan for the CIDRs and Nodes that the changes since the last plan
// concern.
func (t *table) plan(o observed, changes touched) plan {
	before := len(t.strays)
	what := t.change(&o, changes)
	x := t.index(o, what)
	if len(t.stray) > 0 && len(x.strays) != before && (x.isOverBudget(before) || x.isOverBudget(len(x.strays))) {
		// Whether a stray route is held, and the message about it, depend on the number
		// of stray routes. So all stray routes are planned again.
		for cidr := range t.stray {
			what.cidrs[cidr] = true
		}
		what = t.reach(what)
		x = t.index(o, what)
	}
	p := plan{do: changeRoutes, why: "the routes are known", strays: x.strays, quiet: map[string]types.UID{}, table: t}
	if why := t.planCIDRs(x, what, &p); why != "" {
		return plan{do: listRoutes, why: why}
	}
	t.planNodes(x, what, &p)
	t.strays = p.strays
	t.summarize(&p)
	p.after = t.after(o)
	return p
}

// planCIDRs adds the CIDRs to the plan. If the routes have to be listed first, it
// returns the reason. Otherwise it returns the empty string.
func (t *table) planCIDRs(x *index, what touched, p *plan) string {
	for _, cidr := range slices.SortedFunc(maps.Keys(what.cidrs), netip.Prefix.Compare) {
		s := x.planCIDR(cidr)
		if s.list != "" {
			return s.list
		}
		if s.job != nil {
			p.jobs = append(p.jobs, *s.job)
		}
		if s.resolved {
			p.resolved = append(p.resolved, cidr)
		}
		t.setShare(cidr, s)
	}
	return ""
}

// planNodes adds the conditions and events of the Nodes to the plan.
func (t *table) planNodes(x *index, what touched, p *plan) {
	for _, name := range slices.Sorted(maps.Keys(what.nodes)) {
		var v view
		node := x.node(name)
		if node != nil {
			v = x.planCondition(node)
		}
		t.setView(name, v)
		p.events = append(p.events, v.events...)
		if v.patch != nil {
			p.patches = append(p.patches, *v.patch)
		} else {
			p.quiet[name] = uidOf(node)
		}
	}
}

func uidOf(node *corev1.Node) types.UID {
	if node == nil {
		return ""
	}
	return node.UID
}

// index joins the Nodes and the routes of the given CIDRs.
func (t *table) index(o observed, what touched) *index {
	o.table = t
	x := &index{observed: o, entries: map[netip.Prefix]*entry{}, strays: maps.Clone(t.strays)}
	for cidr := range what.cidrs {
		e := &entry{}
		for name := range t.claimants[cidr] {
			if node := o.node(name); node != nil {
				e.claimants = append(e.claimants, node)
			}
		}
		for _, r := range t.routes[cidr] {
			delete(x.strays, r.identity)
			if !o.memory.removedLately(r.identity) {
				e.routes = append(e.routes, judged{route: r})
			}
		}
		if len(e.claimants)+len(e.routes) > 0 {
			x.entries[cidr] = e
		}
	}
	for _, e := range x.entries {
		e.owner = ownerOf(e)
	}
	for cidr, e := range x.entries {
		x.judge(cidr, e)
	}
	return x
}

// setShare replaces the plan for a CIDR in the table.
func (t *table) setShare(cidr netip.Prefix, s share) {
	t.count(t.shares[cidr], -1)
	t.count(s, 1)
	delete(t.stray, cidr)
	if s.stray {
		t.stray[cidr] = true
	}
	if before := t.shares[cidr]; !s.until.IsZero() && !s.until.Equal(before.until) {
		heap.Push(&t.due, due{at: s.until, cidr: cidr})
	}
	s.job = nil // The table does not keep the job, because a job is carried out once.
	if t.shares[cidr] = s; t.claimants[cidr] == nil && t.routes[cidr] == nil {
		delete(t.shares, cidr)
	}
}

// count adds a share to the numbers of the table if n is 1, and subtracts it if n is
// -1.
func (t *table) count(s share, n int) {
	if s.wanted {
		t.counts.wanted += n
	}
	if s.present {
		t.counts.present += n
	}
	if s.missing != "" {
		if t.counts.missing[s.missing] += n; t.counts.missing[s.missing] == 0 {
			delete(t.counts.missing, s.missing)
		}
	}
}

// setView replaces the plan for a Node in the table.
func (t *table) setView(name string, v view) {
	if before := t.views[name]; !v.until.IsZero() && !v.until.Equal(before.until) {
		heap.Push(&t.due, due{at: v.until, name: name})
	}
	if _, known := t.cidrs[name]; !known {
		delete(t.views, name)
		return
	}
	t.views[name] = v
}

// summarize adds the numbers and the held routes of the whole table to the plan.
func (t *table) summarize(p *plan) {
	p.counts = t.counts
	p.counts.missing = maps.Clone(t.counts.missing)
	for _, cidr := range slices.SortedFunc(maps.Keys(t.stray), netip.Prefix.Compare) {
		p.held = append(p.held, t.shares[cidr].held...)
		p.overBudget = append(p.overBudget, t.shares[cidr].overBudget...)
	}
}
