package traffic

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

const (
	servicePort = 8080
	nodePort    = 30080
)

// quick returns checks with short intervals. Their timeout is long, because a busy machine
// must not make a backend unhealthy.
func quick() Checks {
	return Checks{Interval: 5 * time.Millisecond, Timeout: longTimeout, HealthyAfter: 2, UnhealthyAfter: 2}
}

// newPlane returns a plane that ends with the test.
func newPlane(t *testing.T, config Config) *Plane {
	t.Helper()
	if config.Checks == (Checks{}) {
		config.Checks = quick()
	}
	p := New(t.Context(), config)
	t.Cleanup(p.Close)
	return p
}

// someAddress returns a loopback address that other programs are unlikely to use.
func someAddress() netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(128 + rand.IntN(120)), byte(rand.IntN(256)), byte(1 + rand.IntN(250))})
}

// machine is a backend. It answers each line with its own name and the line.
type machine struct {
	name     string
	address  netip.Addr
	listener net.Listener

	mu       sync.Mutex
	accepted int // guarded by mu
}

func newMachine(t *testing.T, name string) *machine {
	t.Helper()
	m := &machine{name: name, address: someAddress()}
	m.start(t)
	t.Cleanup(func() { m.stop(t) })
	return m
}

func (m *machine) start(t *testing.T) {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp4", netip.AddrPortFrom(m.address, nodePort).String())
	if err != nil {
		t.Fatal(err)
	}
	m.listener = listener
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			m.mu.Lock()
			m.accepted++
			m.mu.Unlock()
			go m.answer(conn)
		}
	}()
}

// visits counts all connections so far, including health checks.
func (m *machine) visits() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.accepted
}

func (m *machine) answer(conn net.Conn) {
	defer func() { _ = conn.Close() }() // the client may have closed it already
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if _, err := fmt.Fprintf(conn, "%s: %s\n", m.name, lines.Text()); err != nil {
			return
		}
	}
	_, _ = fmt.Fprintf(conn, "%s: the end\n", m.name) // a client that has closed only its sending side reads this
}

// stop accepts no more connections, and keeps those that are open.
func (m *machine) stop(t *testing.T) {
	t.Helper()
	closeIt(t, m.listener)
}

// closeIt closes a connection that may be closed already.
func closeIt(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

func (m *machine) backend() Backend { return Backend{ID: m.name, Address: m.address} }

func balancerOf(machines ...*machine) Balancer {
	b := Balancer{
		ID: "lb-1", Address: someAddress(),
		Listeners:    []Listener{{wire.TCP, servicePort, nodePort}},
		SourceRanges: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")},
	}
	return b.with(machines...)
}

func (w Balancer) with(machines ...*machine) Balancer {
	w.Backends = nil
	for _, m := range machines {
		w.Backends = append(w.Backends, m.backend())
	}
	return w
}

func (w Balancer) at() string { return netip.AddrPortFrom(w.Address, servicePort).String() }

func apply(t *testing.T, p *Plane, wanted ...Balancer) {
	t.Helper()
	if err := p.Apply(wanted); err != nil {
		t.Fatal(err)
	}
}

// applyWell applies the wanted state and waits until the backends are healthy.
func applyWell(t *testing.T, p *Plane, wanted Balancer) {
	t.Helper()
	apply(t, p, wanted)
	awaitHealth(t, p, wanted.ID, func(h []wire.BackendHealth) bool {
		for _, health := range h {
			if health != wire.BackendHealthy && health != wire.BackendDraining {
				return false
			}
		}
		return true
	})
}

func report(t *testing.T, p *Plane, id string) *wire.Traffic {
	t.Helper()
	r := p.Report(id)
	if r == nil {
		t.Fatalf("no report of %s", id)
	}
	return r
}

func awaitHealth(t *testing.T, p *Plane, id string, ok func([]wire.BackendHealth) bool) {
	t.Helper()
	await(t, "the health of the backends", func() (string, bool) {
		var all []wire.BackendHealth
		for _, b := range report(t, p, id).Backends {
			all = append(all, b.Health)
		}
		return fmt.Sprint(all), ok(all)
	})
}

// await calls the function ask until it returns true. After longTimeout, the test
// fails.
func await(t *testing.T, what string, ask func() (got string, ok bool)) {
	t.Helper()
	deadline := time.Now().Add(longTimeout)
	for {
		got, ok := ask()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: still %s", what, got)
		}
		time.Sleep(time.Millisecond)
	}
}

// visitor is a client of a load balancer.
type visitor struct {
	net.Conn

	lines *bufio.Reader
	name  string // name of the machine that answered
}

func arrive(ctx context.Context, address string, from ...string) (*visitor, error) {
	var dialer net.Dialer
	if len(from) > 0 {
		dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from[0]), 0))
	}
	conn, err := dialer.DialContext(ctx, "tcp4", address)
	if err != nil {
		return nil, err
	}
	return &visitor{Conn: conn, lines: bufio.NewReader(conn)}, nil
}

// say sends a line and returns the name of the machine that answers.
func (v *visitor) say(word string) (string, error) {
	if err := v.SetDeadline(time.Now().Add(longTimeout)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(v, word); err != nil {
		return "", err
	}
	line, err := v.lines.ReadString('\n')
	if err != nil {
		return "", err
	}
	name, echo, ok := strings.Cut(strings.TrimSpace(line), ": ")
	if !ok || echo != word {
		return "", fmt.Errorf("said %q, heard %q", word, line)
	}
	return name, nil
}

// mustVisit connects and says hello.
func mustVisit(t *testing.T, address string, from ...string) (v *visitor, name string) {
	t.Helper()
	v, err := arrive(t.Context(), address, from...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeIt(t, v) })
	v.name, err = v.say("hello")
	if err != nil {
		t.Fatal(err)
	}
	return v, v.name
}

// mustStillSay checks that the same machine answers.
func mustStillSay(t *testing.T, v *visitor) {
	t.Helper()
	if got, err := v.say("still there"); err != nil || got != v.name {
		t.Errorf("got %q, %v; want %s", got, err, v.name)
	}
}

// mustBeCut waits until the connection is reset.
func mustBeCut(t *testing.T, v *visitor) {
	t.Helper()
	if err := v.SetDeadline(time.Now().Add(longTimeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := v.lines.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset", err)
	}
}

// mustBeTurnedAway checks that a connection is refused or reset.
func mustBeTurnedAway(t *testing.T, address string, from ...string) {
	t.Helper()
	v, err := arrive(t.Context(), address, from...)
	if err == nil {
		defer closeIt(t, v)
		_, err = v.say("hello")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got %v, want to be turned away", err)
	}
}

// mustNotListen checks that nothing listens at the address.
func mustNotListen(t *testing.T, address string) {
	t.Helper()
	if v, err := arrive(t.Context(), address); !errors.Is(err, syscall.ECONNREFUSED) {
		if err == nil {
			closeIt(t, v)
		}
		t.Errorf("%s: got %v, want to be refused", address, err)
	}
}

func readAll(t *testing.T, v *visitor) string {
	t.Helper()
	rest, err := io.ReadAll(v.lines)
	if err != nil {
		t.Error(err)
	}
	return string(rest)
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
