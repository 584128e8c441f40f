package traffic

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// answerUDP makes the machine answer a datagram in the same way as a line.
func (m *machine) answerUDP(t *testing.T) {
	t.Helper()
	var config net.ListenConfig
	conn, err := config.ListenPacket(t.Context(), "udp4", netip.AddrPortFrom(m.address, nodePort).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeIt(t, conn) })
	go func() {
		buffer := make([]byte, maxDatagram)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			if _, err := conn.WriteTo(fmt.Appendf(nil, "%s: %s", m.name, buffer[:n]), from); err != nil {
				return
			}
		}
	}()
}

// caller sends datagrams from one port.
type caller struct{ net.Conn }

func newCaller(t *testing.T, address, from string) caller {
	t.Helper()
	dialer := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 0))}
	conn, err := dialer.DialContext(t.Context(), "udp4", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeIt(t, conn) })
	return caller{conn}
}

// ask returns the name of the machine that answers; "nobody" if none does within
// the timeout.
func (c caller) ask(t *testing.T, word string, timeout time.Duration) string {
	t.Helper()
	if _, err := c.Write([]byte(word)); err != nil {
		t.Fatal(err)
	}
	for {
		if err := c.SetReadDeadline(time.Now().Add(timeout)); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, maxDatagram)
		n, err := c.Read(buffer)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return "nobody"
		}
		if err != nil {
			t.Fatal(err)
		}
		name, echo, _ := strings.Cut(string(buffer[:n]), ": ")
		if echo == word {
			return name
		}
	}
}

const (
	longTimeout  = 5 * time.Minute
	shortTimeout = 50 * time.Millisecond // time to wait for an answer that must not come
)

func udpBalancer(machines ...*machine) Balancer {
	w := balancerOf(machines...)
	w.Listeners = []Listener{{wire.UDP, servicePort, nodePort}}
	return w
}

func TestUDP(t *testing.T) {
	p := newPlane(t, Config{})
	a, b := newMachine(t, "a"), newMachine(t, "b")
	a.answerUDP(t)
	b.answerUDP(t)
	w := udpBalancer(a, b)
	w.Drain = time.Hour
	apply(t, p, w) // without checks, both are healthy at once
	one, two := newCaller(t, w.at(), "127.0.0.2"), newCaller(t, w.at(), "127.0.0.2")
	first, second := one.ask(t, "1", longTimeout), two.ask(t, "1", longTimeout)
	names := []string{first, second}
	slices.Sort(names)
	diff(t, "each in turn", []string{"a", "b"}, names)
	for n := range 5 {
		diff(t, "a session has one backend", first, one.ask(t, strconv.Itoa(n), longTimeout))
	}
	big := strings.Repeat("x", 8000)
	diff(t, "a large datagram", first, one.ask(t, big, longTimeout))
	diff(t, "connections", int64(2), report(t, p, w.ID).Listeners[0].Connections)
	await(t, "the bytes of clients", func() (string, bool) {
		r := report(t, p, w.ID)
		in := r.Backends[0].BytesIn + r.Backends[1].BytesIn
		return strconv.FormatInt(in, 10), in == 8000+1+1+5
	})

	left := []*machine{a, b}[slices.Index([]string{"b", "a"}, first)]
	apply(t, p, w.with(left))
	diff(t, "a session of a removed backend goes on", first, one.ask(t, "after", longTimeout))
	diff(t, "a new one goes elsewhere", second, newCaller(t, w.at(), "127.0.0.2").ask(t, "new", longTimeout))

	w.Drain = 0
	apply(t, p, w) // with both backends
	gone, stays := []*machine{a, b}[slices.Index([]string{"a", "b"}, first)], left
	apply(t, p, w.with(stays))
	diff(t, "without a drain the next datagram goes elsewhere, after "+gone.name, second, one.ask(t, "cut", longTimeout))
	apply(t, p, w.with())
	diff(t, "without a backend", "nobody", one.ask(t, "lost", shortTimeout))
	awaitListener(t, p, w.ID, "the count of dropped datagrams", func(l wire.ListenerTraffic) bool { return l.Rejected > 0 })
}

// awaitListener waits until the report about the first listener is as the caller wants
// it. A test has to wait because nothing tells it when a datagram without an answer has
// been counted.
func awaitListener(t *testing.T, p *Plane, id, what string, is func(wire.ListenerTraffic) bool) {
	t.Helper()
	await(t, what, func() (string, bool) {
		l := report(t, p, id).Listeners[0]
		return fmt.Sprintf("%+v", l), is(l)
	})
}

func TestUDPSourceRanges(t *testing.T) {
	p := newPlane(t, Config{})
	a := newMachine(t, "a")
	a.answerUDP(t)
	w := udpBalancer(a)
	apply(t, p, w)
	guest, foreign := newCaller(t, w.at(), "127.0.0.2"), newCaller(t, w.at(), "127.0.0.3")
	diff(t, "everyone", "a", foreign.ask(t, "1", longTimeout))
	w.SourceRanges = []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}
	apply(t, p, w)
	diff(t, "a guest", "a", guest.ask(t, "2", longTimeout))
	diff(t, "a client outside the ranges, session or not", "nobody", foreign.ask(t, "2", shortTimeout))
	awaitListener(t, p, w.ID, "one that is denied", func(l wire.ListenerTraffic) bool { return l.Denied == 1 })
}

func TestUDPAffinity(t *testing.T) {
	p := newPlane(t, Config{})
	a, b := newMachine(t, "a"), newMachine(t, "b")
	a.answerUDP(t)
	b.answerUDP(t)
	w := udpBalancer(a, b)
	w.Affinity = time.Hour
	apply(t, p, w)
	first := newCaller(t, w.at(), "127.0.0.2").ask(t, "1", longTimeout)
	for range 3 {
		diff(t, "from another port", first, newCaller(t, w.at(), "127.0.0.2").ask(t, "2", longTimeout))
	}
}

// A session ends when its backend refuses datagrams. Later datagrams reach
// another backend.
func TestUDPBackendThatRefuses(t *testing.T) {
	p := newPlane(t, Config{})
	a, b := newMachine(t, "a"), newMachine(t, "b")
	b.answerUDP(t) // only b: a does not listen
	w := udpBalancer(a, b)
	apply(t, p, w)
	c := newCaller(t, w.at(), "127.0.0.2")
	await(t, "an answer", func() (string, bool) {
		name := c.ask(t, "hello", shortTimeout)
		return name, name == "b"
	})
	one := report(t, p, w.ID).Backends[0]
	if one.Connections > 0 && one.Failures == 0 {
		t.Errorf("a refusal is not counted: %+v", one)
	}
}

// A session answers its client through the listener's socket, so it ends when the
// listener is closed.
func TestUDPSessionsEndWithTheirListener(t *testing.T) {
	p := newPlane(t, Config{})
	a := newMachine(t, "a")
	a.answerUDP(t)
	w := udpBalancer(a)
	w.Drain = time.Hour
	apply(t, p, w)
	newCaller(t, w.at(), "127.0.0.2").ask(t, "1", longTimeout)
	w.Listeners = []Listener{{wire.UDP, servicePort + 1, nodePort}}
	apply(t, p, w)
	await(t, "the end of the session", func() (string, bool) { return "open", report(t, p, w.ID).Backends[0].Open == 0 })
}

func TestUDPSessionEndsWhenIdle(t *testing.T) {
	p := newPlane(t, Config{IdleUDP: 200 * time.Millisecond})
	a := newMachine(t, "a")
	a.answerUDP(t)
	w := udpBalancer(a)
	apply(t, p, w)
	c := newCaller(t, w.at(), "127.0.0.2")
	// On a busy machine, a session may end before its answer has come.
	asked := int64(0)
	answered := func(word string) {
		t.Helper()
		await(t, "an answer", func() (string, bool) {
			asked++
			name := c.ask(t, word, time.Second)
			return name, name == "a"
		})
	}
	answered("1")
	await(t, "the end of the session", func() (string, bool) { return "open", report(t, p, w.ID).Backends[0].Open == 0 })
	before := report(t, p, w.ID).Backends[0].Connections
	answered("2")
	if now := report(t, p, w.ID).Backends[0].Connections; before < 1 || now <= before || now > asked {
		t.Errorf("%d sessions for %d questions, and %d before; want the next answer to come in another session", now, asked, before)
	}
}

func TestUDPSessionsAreBounded(t *testing.T) {
	p := newPlane(t, Config{IdleUDP: time.Hour}) // On a busy machine, it takes a while to begin all sessions.
	a := newMachine(t, "a")
	a.answerUDP(t)
	w := udpBalancer(a)
	apply(t, p, w)
	for range maxSessions {
		newCaller(t, w.at(), "127.0.0.2").ask(t, "1", longTimeout)
	}
	diff(t, "one too many", "nobody", newCaller(t, w.at(), "127.0.0.2").ask(t, "1", shortTimeout))
	awaitListener(t, p, w.ID, "one that is rejected", func(l wire.ListenerTraffic) bool { return l.Rejected == 1 })
}
