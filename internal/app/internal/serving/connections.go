package serving

import (
	"net"
	"sync"
)

// connectionsAtOnce bounds the memory that connections use. A client can send a request
// header of a megabyte that never ends. The server can also wait for ever for the body
// of a request that it has already answered.
const connectionsAtOnce = 128

// bounded is a listener that keeps at most limit connections. If a client opens one
// more, the new connection is accepted, and the oldest connection of the host with
// the most connections is closed. So a host that opens many connections loses its own
// connections. The kubelet and Prometheus keep theirs.
type bounded struct {
	net.Listener

	limit int

	mu   sync.Mutex
	open map[string][]*connection // by host, the oldest first; guarded by mu
	n    int                      // number of open connections; guarded by mu
}

func newBounded(l net.Listener, limit int) *bounded {
	return &bounded{Listener: l, limit: limit, open: map[string][]*connection{}}
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	accepted, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: accepted, of: b, host: hostOf(accepted.RemoteAddr())}
	if oldest := b.add(c); oldest != nil {
		_ = oldest.Close() // its reader gets an error
	}
	return c, nil
}

// add adds a connection and returns the connection to close. It returns nil if there
// is room.
func (b *bounded) add(c *connection) *connection {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[c.host] = append(b.open[c.host], c)
	b.n++
	if b.n <= b.limit {
		return nil
	}
	most := c.host
	for host, of := range b.open {
		if len(of) > len(b.open[most]) {
			most = host
		}
	}
	return b.open[most][0]
}

func (b *bounded) remove(c *connection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.open[c.host]
	for i := range of {
		if of[i] == c {
			b.n--
			if len(of) == 1 {
				delete(b.open, c.host)
			} else {
				b.open[c.host] = append(of[:i:i], of[i+1:]...)
			}
			return
		}
	}
}

// connection is a connection that tells its listener when it is closed.
type connection struct {
	net.Conn

	of   *bounded
	host string
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.remove(c)
	return c.Conn.Close()
}

func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}
