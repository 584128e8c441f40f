package ipam

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func cidr(text string) netip.Prefix { return netip.MustParsePrefix(text) }

func family(cluster string, mask int) Family { return Family{Cluster: cidr(cluster), Mask: mask} }

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		family Family
		n      int
		want   string
	}{
		{family("10.0.0.0/8", 24), 0, "10.0.0.0/24"},
		{family("10.0.0.0/8", 24), 65535, "10.255.255.0/24"},
		{family("10.128.0.0/9", 24), 258, "10.129.2.0/24"},
		{family("10.1.2.0/23", 25), 3, "10.1.3.128/25"},
		{family("10.1.2.0/24", 24), 0, "10.1.2.0/24"},
		{family("fd00:10:244::/48", 64), 0xabcd, "fd00:10:244:abcd::/64"},
		{family("fd00::/108", 124), 0x1234, "fd00::1:2340/124"},
	} {
		p := newPool(tt.family, nil)
		if got := p.nth(tt.n); got != cidr(tt.want) {
			t.Errorf("%v: number %d is %v, want %s", tt.family, tt.n, got, tt.want)
		}
		if got := p.number(cidr(tt.want).Addr()); got != tt.n {
			t.Errorf("%v: the number of %s is %d, want %d", tt.family, tt.want, got, tt.n)
		}
	}
}

func TestMaxBits(t *testing.T) {
	if got := [2]int{family("10.0.0.0/8", 24).MaxBits(), family("fd00::/48", 64).MaxBits()}; got != [2]int{22, 16} {
		t.Errorf("got %v", got)
	}
}

func TestSpan(t *testing.T) {
	for _, tt := range []struct {
		name, cidr string
		want       int // CIDRs that overlap
	}{
		{"OwnCIDR", "10.1.5.0/24", 1},
		{"PartOfACIDR", "10.1.5.128/25", 1},
		{"TwoCIDRs", "10.1.4.0/23", 2},
		{"NotMasked", "10.1.5.7/23", 2},
		{"TheWholeCluster", "10.1.0.0/16", 256},
		{"WiderThanTheCluster", "0.0.0.0/0", 256},
		{"OtherNetwork", "10.2.5.0/24", 0},
		{"OtherFamily", "fd00::/64", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPool(family("10.1.0.0/16", 24), nil)
			p.hold(cidr(tt.cidr))
			if p.taken != tt.want || p.isHeld(cidr(tt.cidr)) != (tt.want > 0) {
				t.Errorf("%d are taken, want %d", p.taken, tt.want)
			}
			p.drop(cidr(tt.cidr))
			if p.taken != 0 || p.isHeld(cidr("10.1.0.0/16")) {
				t.Errorf("%d are taken after the release", p.taken)
			}
		})
	}
}

// Whatever was held and released before, a CIDR that is taken never overlaps with a
// held one. Every free CIDR can be taken.
func TestPoolNeverGivesWhatIsHeld(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) // the test has to be repeatable
	for run, f := range slices.Repeat([]Family{family("10.0.0.0/20", 24), family("10.0.16.0/21", 27), family("fd00::/56", 62)}, 20) {
		reserved := []netip.Prefix{netip.PrefixFrom(newPool(f, nil).nth(r.IntN(8)).Addr(), f.Mask+1)}
		p := newPool(f, reserved)
		held := slices.Clone(reserved)
		for step := range 500 {
			switch r.IntN(4) {
			case 0: // found on a Node, of any length
				c := netip.PrefixFrom(p.nth(r.IntN(len(p.holders))).Addr(), f.Cluster.Bits()+1+r.IntN(f.Mask-f.Cluster.Bits()+2)).Masked()
				p.hold(c)
				held = append(held, c)
			case 1:
				if n := r.IntN(len(held)); n > 0 {
					p.drop(held[n])
					held = slices.Delete(held, n, n+1)
				}
			default:
				c, ok := p.take(types.UID(fmt.Sprint(run, step)))
				free := 0
				for n := range p.holders {
					if !slices.ContainsFunc(held, p.nth(n).Overlaps) {
						free++
					}
				}
				if ok != (free > 0) {
					t.Fatalf("taken: %v, but %d are free", ok, free)
				}
				if !ok {
					continue
				}
				if i := slices.IndexFunc(held, c.Overlaps); i >= 0 || !f.Cluster.Contains(c.Addr()) || c.Bits() != f.Mask {
					t.Fatalf("took %v, while %v are held", c, held)
				}
				held = append(held, c)
			}
		}
		for _, c := range held {
			p.drop(c)
		}
		if p.taken != 0 || p.tally.allocated != p.tally.released {
			t.Fatalf("%d are taken after everything was released: %+v", p.taken, p.tally)
		}
	}
}

// Two leaders choose the same CIDR for a Node.
func TestChoiceFollowsTheUID(t *testing.T) {
	a, b := newPool(family("10.0.0.0/8", 24), nil), newPool(family("10.0.0.0/8", 24), nil)
	other, _ := a.take("u2")
	one, _ := a.take("u1")
	two, _ := b.take("u1")
	if one != two || one == other {
		t.Errorf("%v and %v for one Node, %v for another", one, two, other)
	}
}
