package traffic

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func TestCloseEndsEverything(t *testing.T) {
	a, b := newMachine(t, "a"), newMachine(t, "b")
	a.answerUDP(t)
	before := runtime.NumGoroutine()
	p := New(t.Context(), Config{Checks: quick()})
	w := balancerOf(a, b)
	w.Drain = time.Hour
	w.Listeners = append(w.Listeners, Listener{wire.UDP, servicePort, nodePort})
	applyWell(t, p, w)
	var open []*visitor
	for range 4 {
		v, _ := mustVisit(t, w.at())
		open = append(open, v)
	}
	newCaller(t, w.at(), "127.0.0.2").ask(t, "hello", longTimeout)
	applyWell(t, p, w.with(a)) // b drains
	p.Close()
	for _, v := range open {
		mustBeCut(t, v)
	}
	mustNotListen(t, w.at())
	await(t, "goroutines", func() (string, bool) {
		n := runtime.NumGoroutine()
		return fmt.Sprintf("%d, and %d before", n, before), n <= before+len(open) // the machine at the other end has one goroutine for each open connection
	})
	if err := p.Apply([]Balancer{w}); err != nil {
		t.Error(err)
	}
	mustNotListen(t, w.at())
	p.Close() // changes nothing
}

func TestManyAtOnce(t *testing.T) {
	p := newPlane(t, Config{})
	a, b := newMachine(t, "a"), newMachine(t, "b")
	w := balancerOf(a, b)
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range 4 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				wanted := []Balancer{w, w.with(a), w.with(b), w.with()}[n%4]
				wanted.Listeners = append([]Listener{}, wanted.Listeners...)
				if n%3 == 0 {
					wanted.Listeners = append(wanted.Listeners, Listener{wire.UDP, servicePort, nodePort})
				}
				if err := p.Apply([]Balancer{wanted}); err != nil { //nolint:contextcheck // the connections outlive the call
					t.Error(err)
				}
				p.Report(w.ID)
			}
		})
	}
	for range 100 {
		if v, err := arrive(t.Context(), w.at()); err == nil {
			closeIt(t, v)
		}
	}
	stop()
	all.Wait()
	applyWell(t, p, w)
	mustVisit(t, w.at())
}

func TestStickinessForgets(t *testing.T) {
	fake := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	s := newStickiness(fake)
	client := netip.MustParseAddr("192.0.2.1")
	s.note(client, "a")
	diff(t, "without affinity", "", s.backend(client))
	s.set(time.Minute)
	s.note(client, "a")
	fake.SetTime(time.Unix(59, 0))
	diff(t, "in time", "a", s.backend(client))
	fake.SetTime(time.Unix(60, 0))
	diff(t, "too late", "", s.backend(client))
	for n := range 3 * fewVisits {
		fake.SetTime(time.Unix(int64(1000*n), 0))
		s.note(netip.AddrFrom4([4]byte{10, 0, byte(n / 256), byte(n)}), "a")
	}
	if len(s.visits) > fewVisits {
		t.Errorf("%d visits are remembered, although they are too old", len(s.visits))
	}
	s.set(0)
	diff(t, "switched off", 0, len(s.visits))
}
