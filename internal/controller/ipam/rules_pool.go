package ipam

import (
	"hash/fnv"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
)

// Family has the CIDR of the cluster's pods in one IP family. Mask is the prefix
// length of the part that each Node gets.
type Family struct {
	Cluster netip.Prefix
	Mask    int
}

// maxBits4 and maxBits6 are the maximum differences between Mask and the prefix
// length of Cluster. There is a maximum because a pool has a counter in memory for
// each CIDR. The maximum for IPv6 is the same as in kube-controller-manager.
const (
	maxBits4 = 22
	maxBits6 = 16
)

// MaxBits returns the maximum difference between Mask and the prefix length of
// Cluster.
func (f Family) MaxBits() int {
	if f.Cluster.Addr().Is4() {
		return maxBits4
	}
	return maxBits6
}

// pool has the CIDRs of one family that Nodes can get. Each CIDR has a number.
type pool struct {
	Family

	holders []int32 // the number of holds that overlap with each CIDR
	taken   int     // CIDRs with a holder
	tally   tally
}

// tally counts what has happened in a pool since the metrics were last updated.
type tally struct {
	allocated, released int
	tries               []int // for each CIDR that was given, the number of CIDRs that were tried
}

// newPool returns the pool of a family. A CIDR that overlaps with a reserved one is
// never given.
func newPool(f Family, reserved []netip.Prefix) *pool {
	p := &pool{Family: f, holders: make([]int32, 1<<(f.Mask-f.Cluster.Bits()))}
	for _, cidr := range reserved {
		p.hold(cidr)
	}
	return p
}

// take takes a free CIDR: one that overlaps with no held CIDR. The search for a free
// CIDR begins at a number that is computed from the Node's UID. So two leaders usually
// choose the same CIDR for one Node, and rarely choose the same CIDR for two Nodes.
// Also, a CIDR that was released is rarely given again soon.
func (p *pool) take(uid types.UID) (cidr netip.Prefix, ok bool) {
	if p.isFull() {
		return netip.Prefix{}, false
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))                     // Write cannot fail.
	n, tries := int(h.Sum32()>>1)%len(p.holders), 1 // The shifted sum fits into an int of 32 bits.
	for p.holders[n] > 0 {
		n = (n + 1) % len(p.holders)
		tries++
	}
	cidr = p.nth(n)
	p.hold(cidr)
	p.tally.tries = append(p.tally.tries, tries)
	return cidr, true
}

// isFull reports whether no CIDR is free.
func (p *pool) isFull() bool { return p.taken == len(p.holders) }

// hold counts one more holder for every CIDR in the pool that overlaps with this one.
func (p *pool) hold(cidr netip.Prefix) {
	for n, end := p.span(cidr); n < end; n++ {
		if p.holders[n] == 0 {
			p.taken++
			p.tally.allocated++
		}
		p.holders[n]++
	}
}

// drop undoes a call of hold.
func (p *pool) drop(cidr netip.Prefix) {
	for n, end := p.span(cidr); n < end; n++ {
		p.holders[n]--
		if p.holders[n] == 0 {
			p.taken--
			p.tally.released++
		}
	}
}

// isHeld reports whether any CIDR in the pool that overlaps with this one is held.
func (p *pool) isHeld(cidr netip.Prefix) bool {
	for n, end := p.span(cidr); n < end; n++ {
		if p.holders[n] > 0 {
			return true
		}
	}
	return false
}

// span returns the numbers of the CIDRs that overlap with this one. end is the
// first number after them.
func (p *pool) span(cidr netip.Prefix) (first, end int) {
	switch {
	case !p.Cluster.Overlaps(cidr):
		return 0, 0
	case cidr.Bits() <= p.Cluster.Bits():
		return 0, len(p.holders)
	case cidr.Bits() >= p.Mask:
		first = p.number(cidr.Addr())
		return first, first + 1
	default:
		first = p.number(cidr.Masked().Addr())
		return first, first + 1<<(p.Mask-cidr.Bits())
	}
}

// nth returns the CIDR with the number.
func (p *pool) nth(n int) netip.Prefix {
	bytes := p.Cluster.Addr().AsSlice()
	for bit := p.Mask - 1; bit >= p.Cluster.Bits(); bit-- {
		bytes[bit/8] |= byte(n&1) << (7 - bit%8)
		n >>= 1
	}
	addr, _ := netip.AddrFromSlice(bytes) // This cannot fail: bytes has the length of an address.
	return netip.PrefixFrom(addr, p.Mask)
}

// number returns the number of the CIDR that contains the address.
func (p *pool) number(addr netip.Addr) (n int) {
	bytes := addr.AsSlice()
	for bit := p.Cluster.Bits(); bit < p.Mask; bit++ {
		n = n<<1 | int(bytes[bit/8]>>(7-bit%8)&1)
	}
	return n
}
