package route

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

func TestRecall(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	cidr := netip.MustParsePrefix("10.244.3.0/24")
	listed := func(m *memory) {
		m.listing = listing{answered: at, routes: []route{{identity: identity{target: "n3", destination: cidr.String()}, cidr: cidr}}}
		m.nextListing = at.Add(time.Minute)
	}
	for name, row := range map[string]struct {
		change func(m *memory)
		known  bool
		want   step.Memory
	}{
		"NothingIsKnown": {func(*memory) {}, false, step.Memory{}},
		"Listed":         {listed, true, step.Memory{Said: "a route to n3", SaidAt: at, NextLook: at.Add(time.Minute)}},
		"NotListed":      {func(m *memory) { m.listing.answered = at }, false, step.Memory{Said: "no route", SaidAt: at}},
		"CreationHasFailed": {
			func(m *memory) {
				m.failures[cidr] = failure{count: 2, since: at, until: at.Add(time.Second), kind: "Denied", text: "No."}
			},
			true,
			step.Memory{Reason: "Denied", Text: "No.", Since: at, Attempts: 2, NextLook: at.Add(time.Second)},
		},
		"ListingFails": {
			func(m *memory) { m.listingFailure = failure{count: 2, since: at, kind: "Denied", text: "No."} },
			false,
			step.Memory{Reason: "Denied", Text: "No.", Since: at, Attempts: 2},
		},
		"JobIsUnderWay": {func(m *memory) { m.pending[cidr] = pendingJob{since: at} }, true, step.Memory{Do: string(changeRoutes), Since: at}},
		"StrayRoute": {
			func(m *memory) { m.strays[identity{target: "gone", destination: cidr.String()}] = at },
			true,
			step.Memory{Reason: "Stray", Text: "The route to gone is not needed, as far as the daemon knows.", Since: at},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			row.change(&m)
			got, known := m.recall(cidr)
			if d := cmp.Diff(row.want, got); d != "" || known != row.known {
				t.Errorf("known: %v; -want +got:\n%s", known, d)
			}
		})
	}
}
