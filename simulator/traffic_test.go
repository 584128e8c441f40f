package simulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// served is a cloud that carries traffic, and the function that stops it.
type served struct {
	*Client

	cloud *Cloud
	stop  func()
}

// startCarrying serves a cloud that carries traffic.
func startCarrying(t *testing.T, config Config) served {
	t.Helper()
	config.Traffic = true
	config.Checks = Checks{Interval: 5 * time.Millisecond, Timeout: time.Minute, UnhealthyAfter: 2}
	cloud, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	var listening net.ListenConfig
	listener, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cloud.Serve(ctx, listener) }()
	client := NewClient("http://" + listener.Addr().String())
	s := served{Client: client, cloud: cloud}
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		client.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
	t.Cleanup(s.stop)
	await(t, "traffic", func() (string, bool) { return "not carried", cloud.forwarder.IsRunning() })
	return s
}

// await calls the function ask until it returns true. After five minutes, the test
// fails.
func await(t *testing.T, what string, ask func() (got string, ok bool)) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
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

// node returns an instance that answers with its name at a node port.
func node(t *testing.T, c served, name string, port int) Instance {
	t.Helper()
	address := netip.AddrFrom4([4]byte{127, byte(rand.IntN(64)), byte(1 + rand.IntN(250)), byte(1 + rand.IntN(250))})
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp4", netip.AddrPortFrom(address, uint16(port)).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, err = fmt.Fprint(conn, name)
			if err := errors.Join(err, conn.Close()); err != nil {
				t.Log(err) // expected for a health check, which closes without reading
			}
		}
	}()
	return mustCreate(t, c.Client, Instance{Name: name, Addresses: []Address{
		{Type: Hostname, Address: name}, {Type: ExternalIP, Address: strings.Replace(address.String(), "127.", "203.", 1)}, {Type: InternalIP, Address: "fd00:" + strings.ReplaceAll(address.String(), ".", ":") + "::1"}, {Type: InternalIP, Address: address.String()},
	}})
}

// curl returns the answer from an address.
func curl(t *testing.T, address string) (string, error) {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp4", address)
	if err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), errors.Join(err, conn.Close())
}

// awaitHealth waits until the backends of the only load balancer have this
// health.
func awaitHealth(t *testing.T, c served, want string) Traffic {
	t.Helper()
	var told Traffic
	await(t, "backends to be "+want, func() (string, bool) {
		all, err := c.Operator().LoadBalancers(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatalf("%d load balancers, %v", len(all), err)
		}
		if all[0].Traffic == nil {
			return "without traffic", false
		}
		told = *all[0].Traffic
		var words []string
		for _, b := range told.Backends {
			words = append(words, strings.TrimSpace(b.Instance+" "+string(b.Health)+" "+b.Why))
		}
		got := strings.Join(words, ", ")
		return got, got == want
	})
	return told
}

const webPort, webNodePort = 8080, 30080

func TestLoadBalancerCarriesTraffic(t *testing.T) {
	c := startCarrying(t, Config{Provisioning: 50 * time.Millisecond})
	one, two := node(t, c, "one", webNodePort), node(t, c, "two", webNodePort)
	static, err := c.CreateStaticIP(t.Context(), StaticIP{Name: "known"})
	diff(t, "error", nil, err)
	created, err := c.CreateLoadBalancer(t.Context(), LoadBalancer{
		Name: "web", StaticIP: static.ID, Listeners: []Listener{{Protocol: TCP, Port: webPort, BackendPort: webNodePort}}, Backends: []string{one.ID, two.ID},
	})
	diff(t, "error", nil, err)
	diff(t, "a pending one carries nothing", (*Traffic)(nil), created.Traffic)
	address := fmt.Sprintf("%s:%d", static.Address, webPort)
	// The load balancer becomes active and listens without a further call.
	await(t, "the first answer", func() (string, bool) {
		answer, err := curl(t, address)
		return fmt.Sprint(answer, err), answer != ""
	})
	told := awaitHealth(t, c, "i-00000001 healthy, i-00000002 healthy")
	diff(t, "where it listens", address, told.Listeners[0].Address)

	// After the cloud has answered the request to remove a backend, the backend
	// gets no new connections.
	if _, err := c.UpdateLoadBalancer(t.Context(), created.ID, LoadBalancerPatch{Backends: []string{two.ID}}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		answer, err := curl(t, address)
		diff(t, "error", nil, err)
		diff(t, "answered by", "two", answer)
	}

	mustDo := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	mustDo(c.StopInstance(t.Context(), two.ID))
	if answer, err := curl(t, address); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("while the only instance is stopped: got %q, %v", answer, err)
	}
	awaitHealth(t, c, "i-00000002 unhealthy the instance is stopped")
	mustDo(c.StartInstance(t.Context(), two.ID))
	awaitHealth(t, c, "i-00000002 healthy")
	_, err = c.UpdateInstance(t.Context(), two.ID, InstancePatch{Addresses: []Address{{Type: ExternalIP, Address: "192.0.2.251"}}})
	mustDo(err)
	awaitHealth(t, c, "i-00000002 unhealthy the instance has no InternalIP of IPv4")
	mustDo(c.TerminateInstance(t.Context(), two.ID))
	awaitHealth(t, c, "i-00000002 unhealthy the instance does not exist")

	mustDo(c.Operator().DeleteLoadBalancer(t.Context(), created.ID)) // changes by the operator take effect at once, too
	if _, err := curl(t, address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("deleted: got %v, want to be refused", err)
	}
}

func TestTrafficGoesOnAfterARestart(t *testing.T) {
	config := Config{StateFile: filepath.Join(t.TempDir(), "cloud.json")}
	first := startCarrying(t, config)
	one := node(t, first, "one", webNodePort)
	// Other clouds on this machine use the first addresses. The static IP is far above
	// those.
	far := fmt.Sprintf("127.%d.%d.1", 100+rand.IntN(27), rand.IntN(256))
	static, err := first.CreateStaticIP(t.Context(), StaticIP{Name: "far", Address: far})
	diff(t, "error", nil, err)
	_, err = first.CreateLoadBalancer(t.Context(), LoadBalancer{
		Name: "web", StaticIP: static.ID, Listeners: []Listener{{Protocol: TCP, Port: webPort, BackendPort: webNodePort}}, Backends: []string{one.ID},
	})
	diff(t, "error", nil, err)
	address := awaitHealth(t, first, "i-00000001 healthy").Listeners[0].Address
	first.stop()
	if _, err := curl(t, address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("stopped: got %v, want to be refused", err)
	}
	second := startCarrying(t, config)
	diff(t, "the same address", address, awaitHealth(t, second, "i-00000001 healthy").Listeners[0].Address)
	answer, err := curl(t, address)
	diff(t, "error", nil, err)
	diff(t, "answer", "one", answer)
}

func TestPendingLoadBalancerDoesNotListen(t *testing.T) {
	c := startCarrying(t, Config{Provisioning: time.Hour})
	static, err := c.CreateStaticIP(t.Context(), StaticIP{Name: "known"})
	diff(t, "error", nil, err)
	_, err = c.CreateLoadBalancer(t.Context(), LoadBalancer{
		Name: "web", StaticIP: static.ID, Listeners: []Listener{{Protocol: TCP, Port: webPort, BackendPort: webNodePort}},
	})
	diff(t, "error", nil, err)
	if _, err := curl(t, fmt.Sprintf("%s:%d", static.Address, webPort)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want to be refused", err)
	}
}

// Two clouds on one machine do not listen at each other's addresses.
func TestCloudsOfOneMachineKeepApart(t *testing.T) {
	first, second := startCarrying(t, Config{}), startCarrying(t, Config{})
	one, two := mustBalance(t, first.Client, webBalancer("web")), mustBalance(t, second.Client, webBalancer("web"))
	network := func(l LoadBalancer) string {
		prefix, err := netip.MustParseAddr(l.Address).Prefix(24)
		if err != nil {
			t.Fatal(err)
		}
		return prefix.String()
	}
	if network(one) == network(two) {
		t.Errorf("%s and %s are in one net", one.Address, two.Address)
	}
	diff(t, "a cloud stays in its net", network(one), network(mustBalance(t, first.Client, webBalancer("another"))))
}

func TestPortThatSomebodyHasIsTriedAgain(t *testing.T) {
	c := startCarrying(t, Config{})
	static, err := c.CreateStaticIP(t.Context(), StaticIP{Name: "taken"})
	diff(t, "error", nil, err)
	var config net.ListenConfig
	other, err := config.Listen(t.Context(), "tcp4", fmt.Sprintf("%s:%d", static.Address, webPort))
	if err != nil {
		t.Fatal(err)
	}
	created, err := c.CreateLoadBalancer(t.Context(), LoadBalancer{
		Name: "web", StaticIP: static.ID, Listeners: []Listener{{Protocol: TCP, Port: webPort, BackendPort: webNodePort}},
	})
	diff(t, "error", nil, err)
	got, err := c.LoadBalancer(t.Context(), created.ID)
	diff(t, "error", nil, err)
	if l := got.Traffic.Listeners[0]; l.Address != "" || !strings.Contains(l.Problem, "address already in use") {
		t.Errorf("got %+v", l)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, "a connection", func() (string, bool) { // no call is made: the cloud must listen again by itself
		_, err := curl(t, fmt.Sprintf("%s:%d", static.Address, webPort))
		return fmt.Sprint(err), errors.Is(err, syscall.ECONNRESET) // reset, because there is no backend
	})
}

func TestWithoutTrafficNothingListens(t *testing.T) {
	c := start(t, Config{})
	l := webBalancer("web")
	l.Listeners[0].Port = webPort
	created := mustBalance(t, c, l)
	diff(t, "traffic", (*Traffic)(nil), created.Traffic)
	static, err := c.CreateStaticIP(t.Context(), StaticIP{Name: "elsewhere", Address: "127.90.17.3"})
	diff(t, "error", nil, err)
	if _, err := c.UpdateLoadBalancer(t.Context(), created.ID, LoadBalancerPatch{StaticIP: &static.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := curl(t, fmt.Sprintf("127.90.17.3:%d", webPort)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want to be refused", err)
	}
}
