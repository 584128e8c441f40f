package traffic

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

const (
	// dialTimeout is the longest time to wait until one backend accepts a connection.
	dialTimeout = 5 * time.Second
	// acceptPause is the pause after an error of Accept, for example because the
	// process has no file descriptors left.
	acceptPause = 50 * time.Millisecond
)

// tcpSocket is the socket of a TCP front.
type tcpSocket struct {
	net.Listener

	front *front
}

func (s *tcpSocket) address() net.Addr { return s.Addr() }

func (s *tcpSocket) accept() {
	plane := s.front.balancer.plane
	for {
		conn, err := s.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			klog.FromContext(plane.life).Error(err, "Connection not accepted", "address", s.Addr())
			pause := plane.clock.NewTimer(acceptPause)
			select {
			case <-pause.C():
			case <-plane.life.Done():
			}
		default:
			plane.running.Go(func() { s.carry(conn) })
		}
	}
}

// carry carries one connection from its beginning to its end.
func (s *tcpSocket) carry(conn net.Conn) {
	from := client(conn.RemoteAddr())
	if !s.front.pool.admits(from) {
		s.front.tally.denied.Add(1)
		reset(conn)
		return
	}
	l, m := s.front.connect(from, func(m *member, backend net.Conn) link {
		return &pair{client: conn, backend: backend, tally: m.tally}
	})
	if l == nil {
		reset(conn)
		return
	}
	defer m.release(l)
	l.(*pair).carry()
}

// reset closes a connection with a reset, so that the other side cannot mistake it for
// a normal end.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // an error does not matter: the connection is closed in any case
	}
	_ = conn.Close() // a reset discards unsent data anyway, so an error does not matter
}

// pair is the connection of a client together with the connection to its
// backend.
type pair struct {
	client, backend net.Conn
	tally           *tally
}

func (p *pair) cut() {
	reset(p.client)
	reset(p.backend)
}

// carry copies the data in both directions, and returns when both have ended.
func (p *pair) carry() {
	var in sync.WaitGroup
	in.Go(func() { p.copy(p.backend, p.client, &p.tally.bytesIn) })
	p.copy(p.client, p.backend, &p.tally.bytesOut)
	in.Wait()
	_ = p.client.Close() // an error does not matter: both directions have ended
	_ = p.backend.Close()
}

// copy copies the data of one direction. When the data ends, it closes that
// direction. If reading, writing or closing fails, it cuts both connections.
func (p *pair) copy(to, from net.Conn, count *atomic.Int64) {
	if _, err := io.Copy(counter{to, count}, reader{from}); err != nil {
		p.cut()
		return
	}
	if tcp, ok := to.(*net.TCPConn); ok {
		if err := tcp.CloseWrite(); err != nil {
			p.cut()
		}
	}
}

// counter counts the bytes that are written to a connection.
type counter struct {
	to    io.Writer
	count *atomic.Int64
}

func (c counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.count.Add(int64(n))
	return n, err
}

// reader hides the connection's WriteTo method, so that io.Copy itself reads from the
// connection and writes to the counter.
type reader struct{ io.Reader }
