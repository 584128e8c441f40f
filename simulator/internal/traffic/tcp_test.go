package traffic

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func TestTCP(t *testing.T) {
	p := newPlane(t, Config{})
	a, b := newMachine(t, "a"), newMachine(t, "b")
	w := balancerOf(a, b)
	applyWell(t, p, w)
	first, name := mustVisit(t, w.at())
	_, other := mustVisit(t, w.at())
	names := []string{name, other}
	slices.Sort(names)
	diff(t, "each in turn", []string{"a", "b"}, names)

	if err := first.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	diff(t, "a client that has closed its own direction is answered", name+": the end\n", readAll(t, first))
	diff(t, "listeners", []wire.ListenerTraffic{{Protocol: wire.TCP, Port: int(w.Listeners[0].Port), Address: w.at(), Connections: 2}}, report(t, p, w.ID).Listeners)
	in, short, long := int64(len("hello\n")), int64(len("x: hello\n")), int64(len("x: hello\nx: the end\n"))
	want := []wire.BackendTraffic{
		{Instance: name, Health: wire.BackendHealthy, Connections: 1, BytesIn: in, BytesOut: long},
		{Instance: other, Health: wire.BackendHealthy, Connections: 1, BytesIn: in, BytesOut: short, Open: 1},
	}
	slices.SortFunc(want, func(x, y wire.BackendTraffic) int { return strings.Compare(x.Instance, y.Instance) })
	await(t, "the report of the backends", func() (string, bool) {
		d := cmp.Diff(want, report(t, p, w.ID).Backends)
		return d, d == ""
	})
}

func TestConnectionsOfARemovedBackendLiveOnWhileItDrains(t *testing.T) {
	p := newPlane(t, Config{})
	a, b := newMachine(t, "a"), newMachine(t, "b")
	w := balancerOf(a)
	w.Drain = time.Hour
	applyWell(t, p, w)
	old, _ := mustVisit(t, w.at())
	applyWell(t, p, w.with(b))
	mustStillSay(t, old)
	for range 4 {
		_, name := mustVisit(t, w.at())
		diff(t, "new connections go elsewhere", "b", name)
	}
	r := report(t, p, w.ID)
	diff(t, "backends", []string{"b healthy 4", "a draining 1"}, told(r))

	applyWell(t, p, w.with(a))
	mustStillSay(t, old)
	recent, name := mustVisit(t, w.at())
	diff(t, "a backend that is added again", "a", name)

	applyWell(t, p, w.with(b))
	closeIt(t, recent)
	mustStillSay(t, old)
	closeIt(t, old)
	await(t, "the end of a drain whose connections have ended", func() (string, bool) {
		r := report(t, p, w.ID)
		return strings.Join(told(r), ", "), len(r.Backends) == 1
	})
}

// told returns the ID, health and number of open connections of each backend.
func told(r *wire.Traffic) []string {
	var all []string
	for _, b := range r.Backends {
		all = append(all, b.Instance+" "+string(b.Health)+" "+string(rune('0'+b.Open)))
	}
	return all
}

func TestADrainEnds(t *testing.T) {
	for name, row := range map[string]time.Duration{"AtOnce": 0, "InTime": 20 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			p := newPlane(t, Config{})
			a, b := newMachine(t, "a"), newMachine(t, "b")
			w := balancerOf(a)
			w.Drain = row
			applyWell(t, p, w)
			old, _ := mustVisit(t, w.at())
			applyWell(t, p, w.with(b))
			mustBeCut(t, old)
			_, name := mustVisit(t, w.at())
			diff(t, "new connections", "b", name)
		})
	}
}

func TestRemovedListenerDrainsToo(t *testing.T) {
	p := newPlane(t, Config{})
	a := newMachine(t, "a")
	w := balancerOf(a)
	w.Drain = time.Hour
	applyWell(t, p, w)
	old, _ := mustVisit(t, w.at())
	before := w.at()
	w.Listeners = []Listener{{wire.TCP, servicePort + 1, nodePort}}
	applyWell(t, p, w)
	mustNotListen(t, before)
	mustStillSay(t, old)
	w.Address = someAddress()
	w.Listeners = []Listener{{wire.TCP, servicePort, nodePort}}
	applyWell(t, p, w)
	_, name := mustVisit(t, w.at())
	diff(t, "at the new address", "a", name)
	mustStillSay(t, old)
}

func TestBackendPortMayChangeWithoutAGap(t *testing.T) {
	p := newPlane(t, Config{})
	a := newMachine(t, "a")
	w := balancerOf(a)
	applyWell(t, p, w)
	socket := p.balancers[w.ID].fronts[w.door(w.Listeners[0])].socket
	w.Listeners = []Listener{{wire.TCP, servicePort, nodePort + 1}}
	apply(t, p, w)
	if p.balancers[w.ID].fronts[w.door(w.Listeners[0])].socket != socket {
		t.Error("the socket was closed although the listener stayed")
	}
	mustBeTurnedAway(t, w.at()) // nothing listens at the new port
}

func TestDeletedLoadBalancerCutsItsConnections(t *testing.T) {
	p := newPlane(t, Config{})
	w := balancerOf(newMachine(t, "a"))
	w.Drain = time.Hour
	applyWell(t, p, w)
	old, _ := mustVisit(t, w.at())
	apply(t, p)
	mustBeCut(t, old)
	mustNotListen(t, w.at())
	if p.Report(w.ID) != nil {
		t.Error("it is still reported")
	}
	applyWell(t, p, w)
	_, name := mustVisit(t, w.at())
	diff(t, "made again at the same address", "a", name)
}

func TestAddressPassesOnInOneStep(t *testing.T) {
	p := newPlane(t, Config{})
	one, two := balancerOf(newMachine(t, "a")), balancerOf(newMachine(t, "b"))
	two.ID = "lb-2"
	apply(t, p, one, two)
	one.Address, two.Address = two.Address, one.Address
	apply(t, p, one, two)
	awaitHealth(t, p, one.ID, func(h []wire.BackendHealth) bool { return h[0] == wire.BackendHealthy })
	_, name := mustVisit(t, one.at())
	diff(t, "at the address that the other one had", "a", name)
}

func TestWithoutABackendThatIsWell(t *testing.T) {
	stopped := newMachine(t, "stopped")
	stopped.stop(t)
	off := newMachine(t, "off")
	for name, backends := range map[string][]Backend{
		"None":           nil,
		"NoneThatListen": {stopped.backend()},
		"NoneThatIsOn":   {{ID: "off", Address: off.address, Off: "the instance is stopped"}, {ID: "gone", Off: "the instance does not exist"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlane(t, Config{})
			w := balancerOf()
			w.Backends = backends
			apply(t, p, w)
			mustBeTurnedAway(t, w.at())
			mustBeTurnedAway(t, w.at())
			r := report(t, p, w.ID)
			diff(t, "rejected", int64(2), r.Listeners[0].Rejected)
			awaitHealth(t, p, w.ID, func(h []wire.BackendHealth) bool {
				return !slices.ContainsFunc(h, func(h wire.BackendHealth) bool { return h != wire.BackendUnhealthy })
			})
			for _, b := range report(t, p, w.ID).Backends {
				if b.Why == "" {
					t.Errorf("the report does not say why %s is unhealthy", b.Instance)
				}
			}
			diff(t, "health checks of a machine that is off", 0, off.visits())
		})
	}
}

// A backend that is stopped in the cloud keeps its connections.
func TestBackendThatIsSwitchedOff(t *testing.T) {
	p := newPlane(t, Config{})
	a, b := newMachine(t, "a"), newMachine(t, "b")
	w := balancerOf(a)
	applyWell(t, p, w)
	old, _ := mustVisit(t, w.at())
	w = w.with(a, b)
	w.Backends[0].Off = "the instance is stopping"
	apply(t, p, w)
	awaitHealth(t, p, w.ID, func(h []wire.BackendHealth) bool { return h[1] == wire.BackendHealthy })
	mustStillSay(t, old)
	for range 3 {
		_, name := mustVisit(t, w.at())
		diff(t, "new connections", "b", name)
	}
	diff(t, "why", "the instance is stopping", report(t, p, w.ID).Backends[0].Why)
}

// If a backend is dead, clients are sent to another backend even before the checks
// notice it.
func TestConnectionThatIsNotTakenGoesElsewhere(t *testing.T) {
	p := newPlane(t, Config{Checks: Checks{Interval: time.Hour, Timeout: longTimeout}})
	a, b := newMachine(t, "a"), newMachine(t, "b")
	w := balancerOf(a, b)
	applyWell(t, p, w)
	a.stop(t)
	for range 4 {
		_, name := mustVisit(t, w.at())
		diff(t, "answered by", "b", name)
	}
	r := report(t, p, w.ID)
	if r.Backends[0].Failures < 1 || r.Backends[0].Health != wire.BackendHealthy {
		t.Errorf("got %+v; want failures that do not change the health", r.Backends[0])
	}
	b.stop(t)
	mustBeTurnedAway(t, w.at())
}

func TestAffinity(t *testing.T) {
	p := newPlane(t, Config{})
	a, b, c := newMachine(t, "a"), newMachine(t, "b"), newMachine(t, "c")
	w := balancerOf(a, b, c)
	w.Affinity = time.Hour
	applyWell(t, p, w)
	_, first := mustVisit(t, w.at(), "127.0.0.2")
	for range 5 {
		_, name := mustVisit(t, w.at(), "127.0.0.2")
		diff(t, "the same client has the same backend", first, name)
	}
	_, other := mustVisit(t, w.at(), "127.0.0.3")
	if other == first {
		t.Error("another client has the same backend, although the next backend was due")
	}
	left := slices.DeleteFunc([]*machine{a, b, c}, func(m *machine) bool { return m.name == first })
	applyWell(t, p, w.with(left...))
	_, second := mustVisit(t, w.at(), "127.0.0.2")
	applyWell(t, p, w)
	_, again := mustVisit(t, w.at(), "127.0.0.2")
	diff(t, "a client that had to move does not move back", second, again)

	w.Affinity = 0
	applyWell(t, p, w)
	seen := map[string]bool{}
	for range 3 {
		_, name := mustVisit(t, w.at(), "127.0.0.2")
		seen[name] = true
	}
	diff(t, "without affinity", 3, len(seen))
}

func TestSourceRanges(t *testing.T) {
	p := newPlane(t, Config{})
	w := balancerOf(newMachine(t, "a"))
	for _, row := range []struct {
		ranges        []string
		one, two      bool
		rejectedSoFar int64
	}{
		{[]string{"0.0.0.0/0"}, true, true, 0},
		{[]string{"127.0.0.2/32"}, true, false, 1},
		{[]string{"192.0.2.0/24", "127.0.0.3/32"}, false, true, 2},
		{[]string{"::/0"}, false, false, 4},
		{nil, false, false, 6},
	} {
		w.SourceRanges = nil
		for _, r := range row.ranges {
			w.SourceRanges = append(w.SourceRanges, netip.MustParsePrefix(r))
		}
		applyWell(t, p, w)
		for from, allowed := range map[string]bool{"127.0.0.2": row.one, "127.0.0.3": row.two} {
			if allowed {
				mustVisit(t, w.at(), from)
			} else {
				mustBeTurnedAway(t, w.at(), from)
			}
		}
		diff(t, "denied", row.rejectedSoFar, report(t, p, w.ID).Listeners[0].Denied)
	}
}

// sockets opens real sockets, except at ports for which the function refuse returns an
// error.
type sockets struct {
	net.ListenConfig

	refuse func(port uint16) error
}

func (s *sockets) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	if err := s.refuse(netip.MustParseAddrPort(address).Port()); err != nil {
		return nil, err
	}
	return s.ListenConfig.Listen(ctx, network, address)
}

func (s *sockets) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	if err := s.refuse(netip.MustParseAddrPort(address).Port()); err != nil {
		return nil, err
	}
	return s.ListenConfig.ListenPacket(ctx, network, address)
}

func TestPortThatTakesAPrivilegeIsMapped(t *testing.T) {
	unprivileged := &sockets{refuse: func(port uint16) error {
		if port > 0 && port < 1024 || port == 20443 { // 20443, to which 443 is mapped, is refused, too
			return &net.OpError{Op: "listen", Err: syscall.EACCES}
		}
		return nil
	}}
	p := newPlane(t, Config{Sockets: unprivileged})
	w := balancerOf(newMachine(t, "a"))
	w.Listeners = []Listener{{wire.TCP, 80, nodePort}, {wire.UDP, 80, nodePort}, {wire.TCP, 443, nodePort}, {wire.TCP, 8080, nodePort}}
	applyWell(t, p, w)
	var shown []string
	for _, l := range report(t, p, w.ID).Listeners {
		shown = append(shown, l.Address)
		if l.Protocol == wire.TCP {
			mustVisit(t, l.Address)
		}
	}
	prefix := w.Address.String() + ":"
	diff(t, "shown", []string{prefix + "20080", prefix + "20080", prefix + "8080"}, slices.Delete(slices.Clone(shown), 2, 3))
	if port := strings.TrimPrefix(shown[2], prefix); port == "443" || port == "20443" || port == "0" {
		t.Errorf("443 is at %s", shown[2])
	}
}

func TestPortThatIsTakenIsTriedAgain(t *testing.T) {
	p := newPlane(t, Config{})
	w := balancerOf(newMachine(t, "a"))
	var config net.ListenConfig
	other, err := config.Listen(t.Context(), "tcp4", w.at())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply([]Balancer{w}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v", err)
	}
	l := report(t, p, w.ID).Listeners[0]
	if l.Address != "" || !strings.Contains(l.Problem, "address already in use") {
		t.Errorf("got %+v", l)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	applyWell(t, p, w)
	mustVisit(t, w.at())
	diff(t, "the problem is gone", "", report(t, p, w.ID).Listeners[0].Problem)
}

// Clients connect all the time while backends join and leave. No client loses
// its connection, and none reaches a backend that was removed before the client
// connected.
func TestNoConnectionIsLostWhenBackendsChange(t *testing.T) {
	p := newPlane(t, Config{})
	machines := []*machine{newMachine(t, "a"), newMachine(t, "b"), newMachine(t, "c"), newMachine(t, "d")}
	w := balancerOf(machines...)
	w.Drain = time.Minute
	applyWell(t, p, w)

	var gone atomic.Pointer[string] // the backend that is removed at present
	none := ""
	gone.Store(&none)
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	var visits atomic.Int64
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				before := gone.Load()
				v, err := arrive(context.WithoutCancel(ctx), w.at())
				if err != nil {
					t.Errorf("visit: %v", err)
					return
				}
				name, err := v.say("hello")
				closeIt(t, v)
				// The removed backend may have been added again in the meantime.
				if err != nil || name == *before && gone.Load() == before {
					t.Errorf("got %q, %v, after %q was removed", name, err, *before)
					return
				}
				visits.Add(1)
			}
		})
	}
	for round := range 60 {
		victim := machines[round%len(machines)]
		left := slices.DeleteFunc(slices.Clone(machines), func(m *machine) bool { return m == victim })
		apply(t, p, w.with(left...))
		name := victim.name // another pointer in each round, so that a client can tell the rounds apart
		gone.Store(&name)
		seen := visits.Load()
		await(t, "visits", func() (string, bool) { return "too few", visits.Load() > seen+20 || t.Failed() })
		gone.Store(&none)
		applyWell(t, p, w)
	}
	stop()
	clients.Wait()
	t.Logf("%d visits", visits.Load())
}
