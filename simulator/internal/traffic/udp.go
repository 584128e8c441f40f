package traffic

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

const (
	maxDatagram = 64 << 10
	// maxSessions bounds the memory of one front: each session has a buffer.
	maxSessions = 1024
)

// udpSocket is the socket of a UDP front. All datagrams from one client
// address, without a long pause between them, are one session with one backend.
type udpSocket struct {
	*net.UDPConn

	front *front

	mu       sync.Mutex
	sessions map[netip.AddrPort]*session // guarded by mu
}

func newUDPSocket(f *front, conn *net.UDPConn) *udpSocket {
	return &udpSocket{UDPConn: conn, front: f, sessions: map[netip.AddrPort]*session{}}
}

func (s *udpSocket) address() net.Addr { return s.LocalAddr() }

func (s *udpSocket) accept() {
	buffer := make([]byte, maxDatagram)
	for {
		n, from, err := s.ReadFromUDPAddrPort(buffer)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // an error of this one datagram
			klog.FromContext(s.front.balancer.plane.life).V(4).Info("Datagram not read", "address", s.LocalAddr(), "err", err)
		default:
			s.forward(netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), buffer[:n])
		}
	}
}

func (s *udpSocket) forward(from netip.AddrPort, datagram []byte) {
	if !s.front.pool.admits(from.Addr()) {
		s.front.tally.denied.Add(1)
		return
	}
	session := s.session(from)
	if session == nil {
		return
	}
	n, err := session.backend.Write(datagram)
	session.member.tally.bytesIn.Add(int64(n))
	if err != nil {
		session.fail(err)
	}
}

// session returns the session of a client, and creates one if there is none. It
// returns nil if there are too many sessions or no backend takes the client.
func (s *udpSocket) session(from netip.AddrPort) *session {
	known, many := s.known(from)
	switch {
	case known != nil:
		return known
	case many:
		s.front.tally.rejected.Add(1)
		return nil
	}
	l, _ := s.front.connect(from.Addr(), func(m *member, backend net.Conn) link {
		return &session{socket: s, client: from, backend: backend, member: m}
	})
	if l == nil {
		return nil
	}
	begun := l.(*session)
	begun.touch()
	s.mu.Lock()
	s.sessions[from] = begun
	s.mu.Unlock()
	s.front.balancer.plane.running.Go(begun.carryBack)
	return begun
}

// known finds the session of a client and marks it as active. If there is no
// session, it returns nil, and reports whether the number of sessions has
// reached its limit.
func (s *udpSocket) known(from netip.AddrPort) (known *session, many bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known = s.sessions[from]
	if known == nil || known.ended.Load() {
		return nil, len(s.sessions) >= maxSessions
	}
	known.touch()
	return known, false
}

// session is the exchange between one client and its backend.
type session struct {
	socket  *udpSocket
	client  netip.AddrPort
	backend net.Conn
	member  *member
	last    atomic.Int64 // time of the last datagram, in nanoseconds
	ended   atomic.Bool
}

func (s *session) plane() *Plane { return s.socket.front.balancer.plane }

func (s *session) touch() { s.last.Store(s.plane().clock.Now().UnixNano()) }

func (s *session) cut() {
	s.ended.Store(true)
	_ = s.backend.Close() // an error does not matter: UDP may lose datagrams anyway
}

// fail ends a session whose backend refuses datagrams. The client's next datagram
// begins another session.
func (s *session) fail(err error) {
	if !errors.Is(err, net.ErrClosed) {
		s.member.tally.failures.Add(1)
	}
	s.cut()
}

// carryBack forwards the answers of the backend until the session has been idle
// for too long.
func (s *session) carryBack() {
	defer s.forget()
	buffer := make([]byte, maxDatagram)
	for {
		if err := s.backend.SetReadDeadline(s.idleAt()); err != nil {
			return
		}
		n, err := s.backend.Read(buffer)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if s.endIfIdle() {
				return
			}
			continue
		case err != nil:
			s.fail(err)
			return
		}
		s.touch()
		if n, err = s.socket.WriteToUDPAddrPort(buffer[:n], s.client); err != nil {
			return
		}
		s.member.tally.bytesOut.Add(int64(n))
	}
}

func (s *session) idleAt() time.Time { return time.Unix(0, s.last.Load()).Add(s.plane().idleUDP) }

// endIfIdle ends the session if it is idle, and reports whether it did. A
// datagram that arrives before the end keeps the session alive. A later one
// begins a new session.
func (s *session) endIfIdle() bool {
	s.socket.mu.Lock()
	defer s.socket.mu.Unlock()
	if s.idleAt().After(s.plane().clock.Now()) {
		return false
	}
	s.ended.Store(true)
	return true
}

func (s *session) forget() {
	s.cut()
	s.socket.mu.Lock()
	if s.socket.sessions[s.client] == s {
		delete(s.socket.sessions, s.client)
	}
	s.socket.mu.Unlock()
	s.member.release(s)
}
