package serving

import (
	"cmp"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

const (
	// connectionsAtOnce bounds the memory that connections use.
	connectionsAtOnce = 64
	// ofOneHost is the number of connections up to which a host that is known is preferred.
	ofOneHost = 16
	// knownHosts is the maximum number of hosts that are known, and knownFor the time for
	// which a host is known after its last request.
	knownHosts, knownFor = 1024, 10 * time.Minute
	// handshakeLimit bounds what a client sends until its offer is read, and from then on
	// until its certificate is read. When they are parsed, an offer takes twenty times its
	// size in memory, and a certificate eighty times.
	handshakeLimit = 16 << 10
	// earlyLimit bounds what a client sends from then on until its first request is read:
	// the header, and what is received together with it.
	earlyLimit = 64 << 10
	// socketBuffer is the size of each of the kernel's two buffers of a connection. Without it
	// they grow to megabytes while a client reads no answers, in the memory of the container.
	socketBuffer = 64 << 10
)

// bounded is a listener that keeps at most limit connections. If a client opens one
// more, another one is closed, but none of the newest quarter: everybody gets time for a
// request. Connections of hosts without an answered request go first, and of these the host
// with the most connections. Then those of the hosts whose first request was answered last.
// So the kubelet, the API server and Prometheus keep their connections, however many others
// there are. The address of this machine, from which kubelets call Pods on the host's
// network, goes last.
type bounded struct {
	net.Listener

	limit int
	own   func(remote, local string) bool // whether the caller is this machine

	mu    sync.Mutex
	open  []*connection   // the oldest first; guarded by mu
	known map[string]uses // by host; guarded by mu
}

// uses says when the first and the last request of a host were answered.
type uses struct{ first, last time.Time }

func newBounded(l net.Listener, limit int) *bounded {
	return &bounded{Listener: l, limit: limit, own: func(remote, local string) bool { return remote == local }, known: map[string]uses{}}
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	accepted, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := accepted.(*net.TCPConn); ok { // An error means that it is closed already.
		_, _ = tcp.SetReadBuffer(socketBuffer), tcp.SetWriteBuffer(socketBuffer)
	}
	c := &connection{Conn: accepted, of: b, host: hostOf(accepted.RemoteAddr().String()), limit: handshakeLimit}
	c.idle = clock.RealClock{}.AfterFunc(idleTimeout, func() { _ = c.Close() })
	c.own = b.own(c.host, hostOf(accepted.LocalAddr().String()))
	if surplus := b.add(c, clock.RealClock{}.Now()); surplus != nil {
		_ = surplus.Close() // its reader gets an error
	}
	return c, nil
}

// add adds a connection and returns the connection to close. It returns nil if there
// is room.
func (b *bounded) add(added *connection, now time.Time) (surplus *connection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = append(b.open, added)
	if len(b.open) <= b.limit {
		return nil
	}
	others := b.open[:len(b.open)-max(b.limit/4, 1)]
	of := map[string]int{}
	for _, c := range b.open {
		of[c.host]++
	}
	since := func(c *connection) time.Time { // zero: unknown
		if of[c.host] > ofOneHost || now.Sub(b.known[c.host].last) > knownFor {
			return time.Time{}
		}
		return b.known[c.host].first
	}
	return slices.MinFunc(others, func(x, y *connection) int { // the oldest of those that are alike
		first, second := since(x), since(y)
		if first.IsZero() && second.IsZero() {
			return cmp.Or(compare(x.own, y.own), cmp.Compare(of[y.host], of[x.host]), compare(x.active, y.active))
		}
		return cmp.Or(compare(x.own, y.own), compare(!first.IsZero(), !second.IsZero()), second.Compare(first), compare(x.active, y.active))
	})
}

// compare orders false before true.
func compare(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	}
	return 1
}

// note records what a connection does. It is for http.Server.ConnState.
func (b *bounded) note(c net.Conn, state http.ConnState) {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	noted, ok := c.(*connection)
	if !ok {
		return
	}
	if state == http.StateActive {
		noted.asked.Store(true)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	wasActive := noted.active
	if noted.active = state == http.StateActive; noted.active {
		noted.idle.Stop()
	} else if slices.Contains(b.open, noted) {
		noted.idle.Reset(idleTimeout)
	}
	if wasActive && !noted.active { // also after a request that ends the connection
		b.answered(noted.host, clock.RealClock{}.Now())
	}
}

// answered records that a request of the host was answered. While too many hosts are
// known, no further one becomes known: an attacker with many addresses must not make
// the kubelet unknown. The caller holds mu.
func (b *bounded) answered(host string, now time.Time) {
	u := b.known[host]
	if now.Sub(u.last) > knownFor {
		u.first = now
	}
	if _, ok := b.known[host]; !ok && len(b.known) >= knownHosts {
		maps.DeleteFunc(b.known, func(_ string, u uses) bool { return now.Sub(u.last) > knownFor })
		if len(b.known) >= knownHosts {
			return
		}
	}
	u.last = now
	b.known[host] = u
}

func (b *bounded) remove(c *connection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = slices.DeleteFunc(b.open, func(other *connection) bool { return other == c })
}

// connection is a connection that tells its listener when it is closed.
type connection struct {
	net.Conn

	of     *bounded
	host   string
	own    bool // the host is this machine
	active bool // a request is under way; guarded by of.mu
	// idle closes the connection. The timer of http.Server is no substitute: HTTP/2 starts it
	// again when a connection ends with open streams, and so keeps all of it for idleTimeout.
	idle  clock.Timer
	asked atomic.Bool
	early int // bytes received in this step of the connection's beginning
	limit int // of early
}

// begin begins the next step, in which the client may send so many bytes.
func (c *connection) begin(limit int) { c.early, c.limit = 0, limit }

// Read implements net.Conn.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.asked.Load() {
		return n, err
	}
	if c.early += n; c.early > c.limit {
		return n, errors.New("too much is sent before the first request")
	}
	return n, err
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.remove(c)
	c.idle.Stop()
	return c.Conn.Close()
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
