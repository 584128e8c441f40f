package e2e

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

// machine is an instance that answers on ports. It answers the first line of a
// connection with its ID, and echoes each later line.
type machine struct {
	instance  simulator.Instance
	listeners []net.Listener
}

// answers listens at a port of the machine until the test ends.
func (m *machine) answers(t *testing.T, port int32) {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", m.at(port))
	if err != nil {
		t.Fatal(err)
	}
	m.listeners = append(m.listeners, listener)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go m.serve(conn)
		}
	}()
}

func (m *machine) at(port int32) string {
	return net.JoinHostPort(m.instance.Addresses[0].Address, strconv.Itoa(int(port)))
}

func (m *machine) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	lines := bufio.NewScanner(conn)
	for first := true; lines.Scan(); first = false {
		answer := lines.Text()
		if first {
			answer = m.instance.ID
		}
		if _, err := fmt.Fprintln(conn, answer); err != nil {
			return
		}
	}
}

// goes takes the machine away: the machine accepts no more connections, and its instance is
// terminated.
func (m *machine) goes(t *testing.T, s traffic) {
	t.Helper()
	for _, listener := range m.listeners {
		_ = listener.Close()
	}
	if err := s.Cloud.TerminateInstance(t.Context(), m.instance.ID); err != nil {
		t.Fatal(err)
	}
}

// trafficClient opens connections to one address.
type trafficClient struct {
	address string
	stop    func() // stops the client, and waits for its open connections

	mu  sync.Mutex
	all []connection // guarded by mu
}

// connection is one short connection.
type connection struct {
	began, ended time.Time
	host         string // the ID of the machine that has answered
	err          error
}

// connects opens a connection to the Service's load balancer every 10 ms.
func (s *traffic) connects(t *testing.T, name string) *trafficClient {
	t.Helper()
	l, err := s.Balancer(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	v := &trafficClient{address: l.Traffic.Listeners[0].Address}
	ctx, cancel := context.WithCancel(t.Context())
	var connecting sync.WaitGroup
	v.stop = sync.OnceFunc(func() { cancel(); connecting.Wait() })
	t.Cleanup(v.stop)
	connecting.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			connecting.Go(func() { v.note(v.connect()) })
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return v
}

func (v *trafficClient) connect() connection {
	is := connection{began: time.Now()}
	var s *session
	if s, is.err = v.open(); is.err == nil {
		is.host, is.err = s.host, s.conn.Close()
	}
	is.ended = time.Now()
	return is
}

func (v *trafficClient) note(is connection) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all = append(v.all, is)
}

// since returns the connections that began at this time or later and have ended.
func (v *trafficClient) since(from time.Time) []connection {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(v.all), func(is connection) bool { return is.began.Before(from) })
}

// session is an open connection.
type session struct {
	conn  net.Conn
	lines *bufio.Reader
	host  string // the ID of the machine that it goes to
}

// answerWithin is the time for an answer on an idle machine.
const answerWithin = 10 * time.Second

func (v *trafficClient) open() (*session, error) {
	conn, err := net.DialTimeout("tcp", v.address, timeout.Extended(answerWithin)) //nolint:noctx // it has a timeout
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, lines: bufio.NewReader(conn)}
	if s.host, err = s.says("who is there"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return s, nil
}

// says sends a line and returns the answer.
func (s *session) says(line string) (string, error) {
	if err := s.conn.SetDeadline(time.Now().Add(timeout.Extended(answerWithin))); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(s.conn, line); err != nil {
		return "", err
	}
	answer, err := s.lines.ReadString('\n')
	if err != nil {
		return "", err
	}
	return answer[:len(answer)-1], nil
}

func (s *session) talk() error {
	answer, err := s.says("still there")
	return cmp.Or(err, expect.Equal("echo", "still there", answer))
}

// stays opens connections until one of them goes to this machine, and returns that
// connection.
func (v *trafficClient) stays(t *testing.T, m *machine) *session {
	t.Helper()
	for range 100 {
		s, err := v.open()
		if err != nil {
			t.Fatal(err)
		}
		if s.host == m.instance.ID {
			return s
		}
		_ = s.conn.Close() // it went to another machine
	}
	t.Fatalf("no connection comes to %s", m.instance.Name)
	return nil
}

// With externalTrafficPolicy Local, only nodes with an endpoint get traffic. A node's
// health check node port reports whether the node has an endpoint.
func testLocalTrafficPolicy(t *testing.T, b *bed.Bed) {
	s := newClass(t, b, "--traffic=true", "--check-interval=100ms")
	s.Runs(t, daemon.Setup{})
	name := s.Balanced(t, "local", func(service *corev1.Service) {
		service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	})
	s.AwaitServing(t, name, s.Hosts...)
	spec := s.Service(t, name).Spec
	var endpoint atomic.Pointer[machine] // the machine that has an endpoint
	var machines []*machine
	for _, i := range s.Hosts {
		m := &machine{instance: i}
		m.answers(t, spec.Ports[0].NodePort)
		m.reports(t, spec.HealthCheckNodePort, func() bool { return endpoint.Load() == m })
		machines = append(machines, m)
	}
	goesTo := func(want ...*machine) {
		t.Helper()
		expect.Within(t, expect.Soon, func(ctx context.Context) error {
			l, err := s.Balancer(ctx, name)
			if err != nil {
				return err
			}
			v, got := trafficClient{address: l.Traffic.Listeners[0].Address}, map[string]bool{}
			for range 4 * len(machines) {
				if is := v.connect(); is.err == nil {
					got[is.host] = true
				}
			}
			ids := map[string]bool{}
			for _, m := range want {
				ids[m.instance.ID] = true
			}
			return expect.Equal("machines that get connections", ids, got)
		})
	}
	for _, m := range machines {
		endpoint.Store(m)
		goesTo(m)
	}
	endpoint.Store(nil)
	goesTo()
	s.Edit(t, name, `{"spec":{"externalTrafficPolicy":"Cluster"}}`)
	goesTo(machines...)
}

// reports answers health checks as kube-proxy does for a Service with the policy Local.
// ready reports whether the machine has a ready endpoint.
func (m *machine) reports(t *testing.T, port int32, ready func() bool) {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", m.at(port))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" || !ready() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
}
