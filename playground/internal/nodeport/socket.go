package nodeport

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	headerTimeout = 5 * time.Second
	maxDatagram   = 64 << 10
)

// socket is an open port.
type socket struct {
	answer atomic.Pointer[answer]
	server io.Closer
	ended  chan struct{} // closed when the socket no longer answers
	err    error         // the reason why the socket has ended; set before ended is closed
}

// open listens at a port and answers until the socket is closed.
func open(ctx context.Context, d door, a answer) (*socket, error) {
	s := &socket{ended: make(chan struct{})}
	s.answer.Store(&a)
	serve, err := s.listen(ctx, d)
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(s.ended)
		s.err = serve()
	}()
	return s, nil
}

func (s *socket) listen(ctx context.Context, d door) (serve func() error, err error) {
	var config net.ListenConfig
	if d.protocol == corev1.ProtocolUDP {
		conn, err := config.ListenPacket(ctx, "udp4", d.at.String())
		s.server = conn
		return func() error { return s.serveUDP(conn) }, err
	}
	listener, err := config.Listen(ctx, "tcp4", d.at.String())
	server := &http.Server{Handler: s, ReadHeaderTimeout: headerTimeout}
	s.server = server
	return func() error { return server.Serve(listener) }, err
}

// ServeHTTP sends the same answer to every request.
func (s *socket) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a := s.answer.Load()
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body) // writing fails only if the client has gone
}

// serveUDP gives the answer to each datagram.
func (s *socket) serveUDP(conn net.PacketConn) error {
	buffer := make([]byte, maxDatagram)
	for {
		_, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return err
		}
		_, _ = conn.WriteTo([]byte(s.answer.Load().body), from) // datagrams may be lost
	}
}

// close stops listening and cuts the open connections, as if the pods of the
// Service had ended.
func (s *socket) close() error {
	err := s.server.Close()
	<-s.ended
	return err
}
