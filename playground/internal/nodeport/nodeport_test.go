package nodeport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-k8s/fairlead/playground/internal/await"
)

const timeout = time.Minute

// address returns a random address, so that no other test on this machine uses it.
func address() netip.Addr {
	n := rand.Uint32()
	return netip.AddrFrom4([4]byte{127, 32 + byte(n>>16)%32, byte(n >> 8), 1 + byte(n)%254})
}

// room is a fake Cluster. The test decides which machines run.
type room struct {
	client kubernetes.Interface

	mu      sync.Mutex
	running []string // guarded by mu
}

func (r *room) Client() kubernetes.Interface { return r.client }

func (r *room) RunningNodes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

func (r *room) run(nodes ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = nodes
}

// get returns the status and the body of the answer from a TCP port.
func get(ctx context.Context, d door) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.at.String()+"/healthz", nil)
	if err != nil {
		return "", err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, strings.TrimSpace(string(body))), err
}

// ask returns the answer from a UDP port.
func ask(ctx context.Context, d door) (string, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "udp4", d.at.String())
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte("hello?")); err != nil {
		return "", err
	}
	buffer := make([]byte, 1024)
	n, err := conn.Read(buffer)
	return strings.TrimSpace(string(buffer[:n])), err
}

// refused checks that nothing listens at the port.
func refused(ctx context.Context, d door) error {
	said, err := get(ctx, d)
	if d.protocol == corev1.ProtocolUDP {
		said, err = ask(ctx, d)
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%s %s says %s, want that nothing listens", d.protocol, d.at, said)
}

func says(want string, got func(context.Context, door) (string, error), d door) func(context.Context) error {
	return func(ctx context.Context) error {
		said, err := got(ctx, d)
		if err == nil && said != want {
			err = fmt.Errorf("%s %s says %q, want %q", d.protocol, d.at, said, want)
		}
		return err
	}
}

// awaits waits until all of these checks succeed.
func awaits(t *testing.T, all ...func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	for _, one := range all {
		if err := await.Until(ctx, "a door", one); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitClosed waits until nothing listens at the ports.
func awaitClosed(t *testing.T, doors ...door) {
	t.Helper()
	for _, d := range doors {
		awaits(t, func(ctx context.Context) error { return refused(ctx, d) })
	}
}

// start runs a responder for the cluster. The returned function ends the responder and waits for
// its end.
func start(t *testing.T, cluster Cluster, clock clock.WithTicker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	r := New(cluster, clock, func(format string, args ...any) { t.Errorf(format, args...) })
	go func() { ended <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func TestDoorsFollowTheCluster(t *testing.T) {
	ip := address()
	tcp := door{corev1.ProtocolTCP, netip.AddrPortFrom(ip, 30080)}
	udp := door{corev1.ProtocolUDP, netip.AddrPortFrom(ip, 30053)}
	health, local := door{corev1.ProtocolTCP, netip.AddrPortFrom(ip, healthPort)}, door{corev1.ProtocolTCP, netip.AddrPortFrom(ip, 31000)}
	cluster := &room{client: fake.NewClientset(), running: []string{"a"}}
	core, ctx := cluster.client.CoreV1(), t.Context()
	clock := clocktesting.NewFakeClock(time.Time{})
	stop := start(t, cluster, clock)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	must(core.Nodes().Create(ctx, node("a", ip.String()), metav1.CreateOptions{}))
	awaits(t, says(`200 {"nodeEligible":true}`, get, health))

	service := web()
	service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53, NodePort: 30053})
	must(core.Services("shop").Create(ctx, service, metav1.CreateOptions{}))
	endpoints := slice(pod("1", "b"))
	endpoints.Ports = nil
	must(cluster.client.DiscoveryV1().EndpointSlices("shop").Create(ctx, endpoints, metav1.CreateOptions{}))
	awaits(t,
		says("200 hello from a (Service shop/web, port 80)", get, tcp),
		says("hello from a (Service shop/web, port 53)", ask, udp))

	service.Spec.ExternalTrafficPolicy, service.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 31000
	must(core.Services("shop").Update(ctx, service, metav1.UpdateOptions{}))
	awaits(t, says(`503 {"service":{"namespace":"shop","name":"web"},"localEndpoints":0,"serviceProxyHealthy":true}`, get, local))
	awaitClosed(t, tcp, udp)

	endpoints.Endpoints = []discoveryv1.Endpoint{pod("1", "b"), pod("2", "a")}
	must(cluster.client.DiscoveryV1().EndpointSlices("shop").Update(ctx, endpoints, metav1.UpdateOptions{}))
	awaits(t,
		says(`200 {"service":{"namespace":"shop","name":"web"},"localEndpoints":1,"serviceProxyHealthy":true}`, get, local),
		says("200 hello from a (Service shop/web, port 80)", get, tcp))

	must(nil, core.Services("shop").Delete(ctx, "web", metav1.DeleteOptions{}))
	awaitClosed(t, tcp, udp, local)

	// Machines cannot be watched, so the responder lists them periodically.
	cluster.run()
	clock.Step(period)
	awaitClosed(t, health)
	cluster.run("a")
	clock.Step(period)
	awaits(t, says(`200 {"nodeEligible":true}`, get, health))

	stop()
	awaitClosed(t, health)
}

// notes returns a responder and the lines that it reports.
func notes() (*Responder, *[]string) {
	var reported []string
	r := New(nil, clock.RealClock{}, func(format string, args ...any) { reported = append(reported, fmt.Sprintf(format, args...)) })
	return r, &reported
}

func TestPortThatIsTakenIsTriedAgain(t *testing.T) {
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
		t.Run(string(protocol), func(t *testing.T) {
			d := door{protocol, netip.AddrPortFrom(address(), 30080)}
			want := map[door]answer{d: {node: "a", about: "Service shop/web, port 80", status: http.StatusOK, body: "hello"}}
			taken, err := open(t.Context(), d, answer{status: http.StatusOK, body: "another program"})
			if err != nil {
				t.Fatal(err)
			}
			r, reported := notes()
			r.apply(t.Context(), want)
			r.apply(t.Context(), want) // not reported twice
			if err := taken.close(); err != nil {
				t.Fatal(err)
			}
			r.apply(t.Context(), want)
			defer r.apply(t.Context(), nil)
			if protocol == corev1.ProtocolUDP {
				awaits(t, says("hello", ask, d))
			} else {
				awaits(t, says("200 hello", get, d))
			}
			network := map[corev1.Protocol]string{corev1.ProtocolTCP: "tcp4", corev1.ProtocolUDP: "udp4"}[protocol]
			if diff := cmp.Diff([]string{
				fmt.Sprintf("a cannot listen at %s (Service shop/web, port 80) and tries again: listen %s %s: bind: address already in use", d.at, network, d.at),
				fmt.Sprintf("a listens at %s now (Service shop/web, port 80)", d.at),
			}, *reported); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// If a port cannot be opened, the problem is reported once. It is reported again only if the port
// was not wanted in between.
func TestProblemIsForgottenWithItsDoor(t *testing.T) {
	d := door{corev1.ProtocolTCP, netip.AddrPortFrom(address(), 30080)}
	taken, err := open(t.Context(), d, answer{status: http.StatusOK})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.close() }()
	r, reported := notes()
	for _, closed := range []string{"", "no endpoint is ready", ""} {
		r.apply(t.Context(), map[door]answer{d: {node: "a", closed: closed}})
	}
	if len(*reported) != 2 {
		t.Errorf("reported %q, want the problem twice", *reported)
	}
}

func TestSocketThatFailsIsOpenedAgain(t *testing.T) {
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
		t.Run(string(protocol), func(t *testing.T) {
			d := door{protocol, netip.AddrPortFrom(address(), 30080)}
			want := map[door]answer{d: {node: "a", status: http.StatusOK, body: "hello"}}
			r, _ := notes()
			r.apply(t.Context(), want)
			first := r.open[d]
			if err := first.server.Close(); err != nil {
				t.Fatal(err)
			}
			<-first.ended
			r.apply(t.Context(), want)
			if slices.Contains([]*socket{nil, first}, r.open[d]) {
				t.Error("it was not opened again")
			}
			r.apply(t.Context(), nil)
			awaitClosed(t, d)
		})
	}
}
