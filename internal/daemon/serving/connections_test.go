package serving

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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

// Clients of HTTP/2 make requests whose answers they do not let through, and go away. None of
// their connections may be kept in memory.
func TestConnectionsThatEndAreForgotten(t *testing.T) {
	_, url := serving(t, "")
	const begin = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
		"\x00\x00\x06\x04\x00\x00\x00\x00\x00" + "\x00\x04\x00\x00\x00\x00" + // SETTINGS: no answer can be sent
		"\x00\x00\x0d\x01\x05\x00\x00\x00\x01" + "\x82\x87\x41\x01a\x04\x06/livez" // HEADERS of a GET
	visit := func(times int) uint64 {
		for range times {
			dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}
			c, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "https://"))
			if err != nil {
				t.Fatal(err)
			}
			_ = c.SetDeadline(time.Now().Add(headerTimeout))
			_, err = c.Write([]byte(begin))
			if _, read := io.ReadAtLeast(c, make([]byte, 1000), 70); err != nil || read != nil { // the settings, and the header of the answer
				t.Fatal(err, read)
			}
			_ = c.Close()
		}
		time.Sleep(time.Second)
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const times = 200
	before := visit(10)
	if after := visit(times); after > before+times*4<<10 {
		t.Errorf("%d connections that are closed take %d kB", times, (after-before)>>10)
	}
}

// A client is not bounded once it has made a request, because a body may be large.
func TestClientThatSendsTooMuchBeforeItsFirstRequest(t *testing.T) {
	for asked, want := range map[bool]bool{false: false, true: true} {
		c := &connection{Conn: talkative{}, limit: earlyLimit}
		c.asked.Store(asked)
		read, err := io.CopyN(io.Discard, c, 2*earlyLimit)
		if (err == nil) != want || !want && read > earlyLimit+1<<10 {
			t.Errorf("asked: %v: %d bytes are read, %v", asked, read, err)
		}
	}
}

// The kernel keeps little for a client that does not read, however large its buffers could be.
func TestBuffersOfTheKernel(t *testing.T) {
	both := []int{syscall.SO_RCVBUF, syscall.SO_SNDBUF}
	large := func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			for _, buffer := range both {
				_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, buffer, 1<<20) // Connections inherit it.
			}
		})
	}
	l, err := (&net.ListenConfig{Control: large}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	served, err := newBounded(l, 1).Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = client.Close(), served.Close(), l.Close() })
	raw, err := served.(*connection).Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) {
		for _, buffer := range both {
			if got, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, buffer); err != nil || got > 2*socketBuffer { // Linux doubles it.
				t.Errorf("buffer %d has %d bytes (%v), want %d", buffer, got, err, 2*socketBuffer)
			}
		}
	})
}

// talkative is a client that never ends.
type talkative struct{ net.Conn }

func (talkative) Read(p []byte) (int, error) { return min(len(p), 1<<10), nil }

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
func (*fakeConnection) LocalAddr() net.Addr    { return &net.TCPAddr{} }
func (f *fakeConnection) Close() error         { f.closed = true; return nil }

// TestBounded opens one connection more than a port keeps, and looks which one is closed.
func TestBounded(t *testing.T) {
	type event struct {
		host string
		does string // "": opens a connection; "asks" or "asked": about its newest connection
	}
	opens := func(n int, host string) (all []event) {
		return slices.Repeat([]event{{host, ""}}, n)
	}
	known := func(host string) []event { return []event{{host, ""}, {host, "asks"}, {host, "asked"}} }
	const kubelet, server, attacker, other = "10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"
	for _, tt := range []struct {
		name   string
		limit  int
		events []event
		want   []string // hosts of the closed connections
	}{
		{"RoomForAll", 2, []event{{kubelet, ""}, {attacker, ""}}, nil},
		{"OldestOfTheHostWithMost", 3, slices.Concat(opens(1, kubelet), opens(2, attacker), opens(1, server)), []string{attacker}},
		{"HostWithMostLosesItsOwn", 3, slices.Concat(opens(1, kubelet), opens(5, attacker)), []string{attacker, attacker, attacker}},
		{"NewestIsNeverClosed", 2, []event{{kubelet, ""}, {attacker, ""}, {server, ""}}, []string{kubelet}},
		{"UnknownHostBeforeAKnownOne", 2, slices.Concat(known(kubelet), opens(1, attacker), opens(1, server)), []string{attacker}},
		{"UnknownHostWithOneBeforeAKnownOneWithTwo", 3, slices.Concat(known(kubelet), opens(1, kubelet), opens(1, attacker), opens(1, server)), []string{attacker}},
		{"HostThatIsKnownForLess", 2, slices.Concat(known(kubelet), known(attacker), opens(1, server)), []string{attacker}},
		{"IdleBeforeActive", 2, []event{{attacker, ""}, {attacker, "asks"}, {other, ""}, {server, ""}}, []string{other}},
		{"OwnAddressLast", 2, slices.Concat(opens(1, "127.0.0.1"), known(kubelet), opens(1, server)), []string{kubelet}},
		{"KnownHostWithVeryMany", ofOneHost + 2, slices.Concat(known(kubelet), known(attacker), opens(ofOneHost, attacker), opens(1, server)), []string{attacker}},
		{"KnownHostWithMany", ofOneHost + 1, slices.Concat(opens(1, other), known(attacker), opens(ofOneHost-1, attacker), opens(1, server)), []string{other}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from := make(hosts, 1)
				b := newBounded(from, tt.limit)
				b.own = func(remote, _ string) bool { return remote == "127.0.0.1" }
				var all []*connection
				for _, e := range tt.events {
					time.Sleep(time.Second)
					if e.does == "" {
						from <- e.host
						c, err := b.Accept()
						if err != nil {
							t.Fatal(err)
						}
						all = append(all, c.(*connection))
						continue
					}
					b.note(all[len(all)-1], map[string]http.ConnState{"asks": http.StateActive, "asked": http.StateIdle}[e.does])
				}
				var got []string
				for _, c := range all {
					if c.Conn.(*fakeConnection).closed {
						got = append(got, c.host)
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("closed connections (-want +got):\n%s", diff)
				}
				for _, c := range slices.Concat(all, all) {
					_ = c.Close()
				}
				if len(b.open) != 0 {
					t.Errorf("%d connections after all were closed", len(b.open))
				}
			})
		})
	}
}

// A host is known for ten minutes after its last request. While too many are known, no
// further one becomes known, so nobody can make the kubelet unknown.
func TestKnownHosts(t *testing.T) {
	at := func(m int) time.Time { return time.Time{}.Add(time.Hour + time.Duration(m)*time.Minute) }
	b := newBounded(nil, 1)
	for n := range knownHosts {
		b.answered(strconv.Itoa(n), at(n%2))
	}
	b.answered("0", at(9))
	b.answered("late", at(9))
	if _, isKnown := b.known["late"]; isKnown || len(b.known) != knownHosts || b.known["0"] != (uses{at(0), at(9)}) {
		t.Errorf("%d hosts are known, a late one: %v, one that came back since %v", len(b.known), isKnown, b.known["0"])
	}
	b.answered("late", at(12)) // by now, only host 0 is known
	if _, isKnown := b.known["late"]; !isKnown || len(b.known) != 2 {
		t.Errorf("%d hosts are known, a late one: %v", len(b.known), isKnown)
	}
	b.answered("0", at(30))
	if got := b.known["0"]; got != (uses{at(30), at(30)}) {
		t.Errorf("a host that comes back is known since %v", got)
	}
}

// idle opens connections from 127.0.0.2 and so on, one from each address.
func idle(t *testing.T, url string, n int) {
	t.Helper()
	for i := range n {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i+1))}}
		c, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "https://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
}

// Many hosts with an idle connection each keep nobody out.
func TestIdleConnectionsKeepNobodyOut(t *testing.T) {
	_, url := serving(t, "")
	probe := func(host byte) int {
		client := insecureClient()
		client.Transport.(*http.Transport).DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 2, host)}}).DialContext
		return status(t, client, http.MethodGet, url+"/healthz", "", nil)
	}
	for round := range 3 {
		idle(t, url, 2*connectionsAtOnce)
		for host := range byte(4) {
			if got := probe(host); got != 200 {
				t.Errorf("round %d: a probe gets %d", round, got)
			}
		}
	}
}
