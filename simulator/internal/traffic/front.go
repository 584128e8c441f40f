package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// front is one listener of a load balancer.
type front struct {
	balancer *balancer
	door     door
	pool     *pool
	tally    doorTally

	shown   string // guarded by balancer.mu; the address at which it listens
	problem string // guarded by balancer.mu; the error if it does not listen
	// socket is nil while the front does not listen. Only Apply and Close use it.
	socket socket
	closed chan struct{} // closed when no more connections are accepted
}

// socket is the socket of a front.
type socket interface {
	// accept takes connections or datagrams until the socket is closed.
	accept()
	address() net.Addr
	Close() error
}

func newFront(b *balancer, d door) *front {
	return &front{balancer: b, door: d, pool: newPool(b.plane, b.sticky)}
}

// open makes the front listen. It does nothing if the front already listens.
func (f *front) open() error {
	if f.socket != nil {
		return nil
	}
	s, err := f.listen(f.balancer.plane.life)
	f.balancer.mu.Lock()
	defer f.balancer.mu.Unlock()
	if err != nil {
		f.problem = err.Error()
		return err
	}
	f.socket, f.shown, f.problem = s, s.address().String(), ""
	closed := make(chan struct{})
	f.closed = closed
	f.balancer.plane.running.Go(func() {
		defer close(closed)
		s.accept()
	})
	klog.FromContext(f.balancer.plane.life).Info("Listening", "loadBalancer", f.balancer.id,
		"protocol", f.door.protocol, "port", f.door.at.Port(), "address", f.shown)
	return nil
}

// listen listens at the front's port. If the process has no privilege for that
// port, it listens at another port of the same address.
func (f *front) listen(ctx context.Context) (socket, error) {
	s, err := f.bind(ctx, f.door.at.Port())
	if !errors.Is(err, syscall.EACCES) {
		return s, err
	}
	const above = 20_000 // so that port 80 becomes 20080
	if s, err := f.bind(ctx, f.door.at.Port()+above); err == nil {
		return s, nil
	}
	return f.bind(ctx, 0)
}

func (f *front) bind(ctx context.Context, port uint16) (socket, error) {
	address := netip.AddrPortFrom(f.door.at.Addr(), port).String()
	if f.door.protocol == wire.UDP {
		conn, err := f.balancer.plane.sockets.ListenPacket(ctx, "udp4", address)
		if err != nil {
			return nil, err
		}
		udp, ok := conn.(*net.UDPConn)
		if !ok {
			return nil, fmt.Errorf("%T is not a wire.UDP socket", conn)
		}
		return newUDPSocket(f, udp), nil
	}
	listener, err := f.balancer.plane.sockets.Listen(ctx, "tcp4", address)
	if err != nil {
		return nil, err
	}
	return &tcpSocket{Listener: listener, front: f}, nil
}

// shut stops listening, and returns once no more connections are accepted.
func (f *front) shut() {
	if f.socket == nil {
		return
	}
	if err := f.socket.Close(); err != nil {
		klog.FromContext(f.balancer.plane.life).Error(err, "Socket not closed", "loadBalancer", f.balancer.id, "address", f.door.at)
	}
	<-f.closed
	f.socket = nil
}

// client returns the address by which pools identify a client.
func client(address net.Addr) netip.Addr {
	switch a := address.(type) {
	case *net.TCPAddr:
		return a.AddrPort().Addr().Unmap()
	case *net.UDPAddr:
		return a.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// connect tries one member after the other until one takes the connection. It returns
// that member, and the link that the function hold has returned. It returns nil if no
// member takes the connection.
func (f *front) connect(client netip.Addr, hold func(*member, net.Conn) link) (link, *member) {
	var tried []*member
	for {
		m, stay := f.pool.pick(client, tried)
		if m == nil {
			f.tally.rejected.Add(1)
			return nil, nil
		}
		tried = append(tried, m)
		l := f.try(stay, m, hold)
		m.dials.Done()
		if l != nil {
			f.tally.connections.Add(1)
			return l, m
		}
	}
}

// try opens a connection to one member. It returns nil if the member does not
// take it.
func (f *front) try(ctx context.Context, m *member, hold func(*member, net.Conn) link) link {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, f.network(), m.at.String())
	if err != nil {
		if ctx.Err() == nil {
			m.tally.failures.Add(1)
		}
		return nil
	}
	l := hold(m, conn)
	if !m.admit(l) {
		reset(conn) // the member was removed meanwhile; another member may take the client
		return nil
	}
	return l
}

func (f *front) network() string {
	if f.door.protocol == wire.UDP {
		return "udp4"
	}
	return "tcp4"
}
