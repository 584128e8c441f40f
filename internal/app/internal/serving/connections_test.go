package serving

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// dial opens a connection and sends half of a request.
func dial(t *testing.T, url string) net.Conn {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	c, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: a\r\nX: "); err != nil {
		t.Fatal(err)
	}
	return c
}

// isOpen reports whether the server waits for the rest of the request. isOpen returns
// when the connection is closed or the given time has passed.
func isOpen(t *testing.T, c net.Conn, after time.Duration) bool {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(after)); err != nil {
		t.Fatal(err)
	}
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// TestConnectionsThatStop opens many connections. Each could occupy a megabyte.
func TestConnectionsThatStop(t *testing.T) {
	_, url := serving(t, "")
	const more = 20
	var all []net.Conn
	for range connectionsAtOnce + more {
		c := dial(t, url)
		defer func() { _ = c.Close() }()
		all = append(all, c)
	}
	for i, c := range all[:more] {
		if isOpen(t, c, 10*time.Second) {
			t.Errorf("connection %d of %d is open", i, len(all))
		}
	}
	if !isOpen(t, all[len(all)-1], 20*time.Millisecond) {
		t.Error("the newest connection is closed")
	}
	if got := status(t, insecureClient(), http.MethodGet, url+"/healthz", "", nil); got != 200 {
		t.Errorf("meanwhile a probe gets %d", got)
	}
}

// hosts is a listener. Each time a host is sent to the channel, Accept returns a
// connection from that host.
type hosts chan string

func (h hosts) Accept() (net.Conn, error) { return &fakeConnection{host: <-h}, nil }
func (hosts) Close() error                { return nil }
func (hosts) Addr() net.Addr              { return &net.TCPAddr{} }

type fakeConnection struct {
	net.Conn

	host   string
	closed bool
}

func (f *fakeConnection) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.host), Port: 1} }
func (f *fakeConnection) Close() error         { f.closed = true; return nil }

func TestBounded(t *testing.T) {
	from := make(hosts, 1)
	b := newBounded(from, 4)
	accept := func(host string) *connection {
		from <- host
		c, err := b.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return c.(*connection)
	}
	isClosed := func(c *connection) bool { return c.Conn.(*fakeConnection).closed }

	kubelet := accept("10.0.0.1")
	var attackers []*connection
	for range 10 {
		attackers = append(attackers, accept("fd00::1"))
	}
	prometheus := accept("10.0.0.2")
	for i, c := range attackers {
		if got, want := isClosed(c), i < len(attackers)-2; got != want {
			t.Errorf("attacker's connection %d: closed is %t", i, got)
		}
	}
	if isClosed(kubelet) || isClosed(prometheus) {
		t.Error("a host with one connection loses it to a host with many")
	}
	for _, c := range []*connection{kubelet, prometheus, attackers[8], attackers[9], attackers[9], attackers[0]} {
		_ = c.Close()
	}
	if b.n != 0 || len(b.open) != 0 {
		t.Errorf("after all were closed: %d, %v", b.n, b.open)
	}
}
