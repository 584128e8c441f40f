package ipam

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

var dual = []Family{family("10.0.0.0/22", 24), family("fd00::/60", 64)}

func cidrs(all ...string) (parsed []netip.Prefix) {
	for _, text := range all {
		parsed = append(parsed, cidr(text))
	}
	return parsed
}

func (l *ledger) takenNow() []int {
	var all []int
	for _, p := range l.pools {
		all = append(all, p.taken)
	}
	return all
}

func TestReserveIsAllOrNone(t *testing.T) {
	l := newLedger(dual, nil)
	for _, name := range []string{"a", "b", "c", "d"} {
		if full := l.reserve(l.at(types.UID(name), name)); full.IsValid() {
			t.Fatalf("%v is full for %s", full, name)
		}
	}
	if full := l.reserve(l.at("e", "e")); full != cidr("10.0.0.0/22") {
		t.Errorf("%v is full", full)
	}
	l.pools[0] = newPool(family("10.0.0.0/16", 24), nil)
	for p, n := l.pools[1], 0; n < len(p.holders); n++ {
		p.hold(p.nth(n))
	}
	if full := l.reserve(l.at("e", "e")); full != cidr("fd00::/60") {
		t.Errorf("%v is full", full)
	}
	if diff := cmp.Diff([]int{0, 16}, l.takenNow()); diff != "" {
		t.Errorf("a CIDR of one family stays reserved without the other (-want +got):\n%s", diff)
	}
	if len(l.entries["e"].cidrs) > 0 {
		t.Errorf("e holds %v", l.entries["e"].cidrs)
	}
}

func TestLedger(t *testing.T) {
	l := newLedger(dual, cidrs("10.0.3.0/25"))
	first, second := l.at("u1", "a"), l.at("u2", "a")
	l.suspect(first)
	l.suspect(second)
	for _, tt := range []struct {
		after time.Duration
		want  int
	}{{longWait - time.Second, 2}, {longWait, 1}} {
		first.unfenced = ago(tt.after)
		if n, name := l.blocking(noon); n != tt.want || name != "a" {
			t.Errorf("%d Nodes, among them %q, hold the others, want %d, when a fence was refused for %v", n, name, tt.want, tt.after)
		}
	}
	l.adopt(first, cidrs("10.0.1.0/24", "fd00::/64"))
	l.adopt(first, cidrs("10.0.1.0/24", "fd00::/64"))
	l.adopt(second, cidrs("10.0.0.0/23"))
	if diff := cmp.Diff([]int{3, 1}, l.takenNow()); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	if n, _ := l.blocking(noon); n != 0 || len(l.suspects) != 0 {
		t.Error("a Node with CIDRs is suspect")
	}
	if other := l.overlapping("u2", cidrs("10.0.1.128/25")); other != first {
		t.Errorf("overlaps with %v", other)
	}
	if l.overlapping("u1", first.cidrs) != nil || l.overlapping("u3", cidrs("10.0.2.0/24")) != nil || l.overlapping("u3", cidrs("10.0.3.0/24")) != nil {
		t.Error("overlaps with itself, with nobody, or with what is reserved")
	}
	if !l.covers(cidrs("10.0.0.0/8")) || l.covers(cidrs("10.9.0.0/24")) {
		t.Error("covers")
	}
	if diff := cmp.Diff([]types.UID{"u1"}, l.former("a", "u2")); diff != "" {
		t.Errorf("former (-want +got):\n%s", diff)
	}
	l.forget("u1")
	l.forget("u1")
	if diff := cmp.Diff([]int{3, 0}, l.takenNow()); diff != "" {
		t.Errorf("taken: a CIDR that two Nodes hold is free when both are gone (-want +got):\n%s", diff)
	}
	l.forget("u2")
	if diff := cmp.Diff([]int{1, 0}, l.takenNow()); diff != "" || len(l.entries)+len(l.byName) != 0 {
		t.Errorf("taken after all are gone (-want +got):\n%s%v", diff, l.entries)
	}
}

func TestParse(t *testing.T) {
	got := parse([]string{"10.0.1.7/24", "010.000.002.0/24", "::ffff:10.0.3.0/120", "fd00::1/64", "nonsense"})
	if diff := cmp.Diff("10.0.1.0/24,10.0.2.0/24,10.0.3.0/24,fd00::/64", join(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
