package ipam

import (
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/utils/net"
)

// ledger records which Node holds which CIDRs. A Node holds a CIDR as soon as the CIDR
// is reserved for the Node, which happens before the write is sent. The Node holds it
// until the API server says that the Node is gone or has other CIDRs.
type ledger struct {
	pools   []*pool // in the order of --cluster-cidr
	entries map[types.UID]*entry
	byName  map[string][]types.UID
	// suspects are the Nodes whose CIDRs an earlier leader may still write.
	suspects map[types.UID]*entry
}

// entry has the known facts about the CIDRs of one Node.
type entry struct {
	uid  types.UID
	name string
	// cidrs are the CIDRs that the Node holds.
	cidrs []netip.Prefix
	// written means that the API server has these CIDRs.
	written bool
	// without is the time when the Node was first seen without CIDRs. It is zero if
	// the Node was never seen without CIDRs.
	without time.Time
	// suspect means that an earlier leader may still write the Node's CIDRs.
	suspect bool
	// unfenced is the time when the API server began to refuse the fence because of
	// the Node's own content, such as annotations that leave no room. It is zero if
	// the fence is not refused. Other Nodes wait for the fence only for longWait.
	unfenced time.Time
}

// newLedger returns a ledger without Nodes. Reserved CIDRs are never given.
func newLedger(families []Family, reserved []netip.Prefix) *ledger {
	l := &ledger{entries: map[types.UID]*entry{}, byName: map[string][]types.UID{}, suspects: map[types.UID]*entry{}}
	for _, f := range families {
		l.pools = append(l.pools, newPool(f, reserved))
	}
	return l
}

// at returns the entry of a Node. It makes the entry if there is none.
func (l *ledger) at(uid types.UID, name string) *entry {
	e := l.entries[uid]
	if e == nil {
		e = &entry{uid: uid, name: name}
		l.entries[uid] = e
		l.byName[name] = append(l.byName[name], uid)
	}
	return e
}

// seenWithout records the time when the Node was first seen without CIDRs.
func (l *ledger) seenWithout(e *entry, now time.Time) {
	if e.without.IsZero() {
		e.without = now
	}
}

// suspect records that an earlier leader may still write the Node's CIDRs. trust
// records that no earlier leader can still write them.
func (l *ledger) suspect(e *entry) {
	e.suspect = true
	l.suspects[e.uid] = e
}

func (l *ledger) trust(e *entry) {
	e.suspect, e.unfenced = false, time.Time{}
	delete(l.suspects, e.uid)
}

// adopt records that the API server has these CIDRs for the Node. If other CIDRs were
// reserved for the Node, adopt releases them, because the CIDRs of a Node never change.
func (l *ledger) adopt(e *entry, cidrs []netip.Prefix) {
	if !slices.Equal(e.cidrs, cidrs) {
		l.drop(e)
		for _, cidr := range cidrs {
			for _, p := range l.pools {
				p.hold(cidr)
			}
		}
	}
	e.cidrs, e.written = cidrs, true
	l.trust(e)
}

// reserve takes a CIDR of each family for the Node. It takes either all of them or
// none. If one of the cluster's CIDRs has no free part left, reserve returns that CIDR.
func (l *ledger) reserve(e *entry) (full netip.Prefix) {
	for _, p := range l.pools {
		cidr, ok := p.take(e.uid)
		if !ok {
			l.drop(e)
			return p.Cluster
		}
		e.cidrs = append(e.cidrs, cidr)
	}
	return netip.Prefix{}
}

// forget drops a Node that is gone, and releases its CIDRs.
func (l *ledger) forget(uid types.UID) {
	e := l.entries[uid]
	if e == nil {
		return
	}
	l.drop(e)
	l.trust(e)
	delete(l.entries, uid)
	l.byName[e.name] = slices.DeleteFunc(l.byName[e.name], func(other types.UID) bool { return other == uid })
	if len(l.byName[e.name]) == 0 {
		delete(l.byName, e.name)
	}
}

func (l *ledger) drop(e *entry) {
	for _, cidr := range e.cidrs {
		for _, p := range l.pools {
			p.drop(cidr)
		}
	}
	e.cidrs, e.written = nil, false
}

// overlapping returns another Node whose CIDRs overlap with these CIDRs, or nil if
// there is none.
func (l *ledger) overlapping(uid types.UID, cidrs []netip.Prefix) *entry {
	if !l.isHeld(uid, cidrs) {
		return nil
	}
	for _, e := range l.entries { // Overlaps are rare, so this may be slow.
		if e.uid != uid && slices.ContainsFunc(e.cidrs, func(one netip.Prefix) bool { return slices.ContainsFunc(cidrs, one.Overlaps) }) {
			return e
		}
	}
	return nil
}

// isHeld reports whether somebody else might hold a part of the CIDRs.
func (l *ledger) isHeld(uid types.UID, cidrs []netip.Prefix) bool {
	if e := l.entries[uid]; e != nil && slices.Equal(e.cidrs, cidrs) {
		return false // The Node's own CIDRs were checked when they were adopted.
	}
	return slices.ContainsFunc(l.pools, func(p *pool) bool { return slices.ContainsFunc(cidrs, p.isHeld) })
}

// covers reports whether one of the CIDRs overlaps with one of the cluster's
// CIDRs.
func (l *ledger) covers(cidrs []netip.Prefix) bool {
	return slices.ContainsFunc(l.pools, func(p *pool) bool { return slices.ContainsFunc(cidrs, p.Cluster.Overlaps) })
}

// former returns the UIDs of all Nodes in the ledger that have this name, except this
// UID.
func (l *ledger) former(name string, uid types.UID) []types.UID {
	return slices.DeleteFunc(slices.Clone(l.byName[name]), func(other types.UID) bool { return other == uid })
}

// blocking returns the number of Nodes that have to be fenced before any Node gets CIDRs,
// and the name of one of them.
func (l *ledger) blocking(now time.Time) (n int, name string) {
	for _, e := range l.suspects {
		if e.unfenced.IsZero() || now.Sub(e.unfenced) < longWait {
			n, name = n+1, e.name
		}
	}
	return n, name
}

// parse returns the CIDRs of a Node. It accepts the forms that older API servers
// have stored, such as leading zeros.
func parse(texts []string) (cidrs []netip.Prefix) {
	for _, text := range texts {
		_, network, err := utilnet.ParseCIDRSloppy(text)
		if err != nil {
			continue // The API server stores no such CIDR.
		}
		addr, _ := netip.AddrFromSlice(network.IP)
		ones, bits := network.Mask.Size()
		cidrs = append(cidrs, netip.PrefixFrom(addr.Unmap(), ones-(bits-addr.Unmap().BitLen())))
	}
	return cidrs
}
