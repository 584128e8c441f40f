package simulator

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// start serves a cloud over TCP and returns a customer's client for it.
func start(t *testing.T, config Config) *Client {
	t.Helper()
	cloud, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	client := NewClient(server.URL)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// startInBubble serves a cloud over pipes, not sockets. In a synctest bubble, time
// passes only while all goroutines of the bubble wait, and waiting for a socket does
// not count.
func startInBubble(t *testing.T, config Config) *Client {
	t.Helper()
	cloud, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	pipes := newPipes()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- cloud.Serve(ctx, pipes) }()
	client := pipes.client()
	t.Cleanup(func() {
		client.CloseIdleConnections()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return client
}

type pipeListener struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func newPipes() *pipeListener {
	return &pipeListener{accepted: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipeListener) client() *Client {
	client := NewClient("http://localhost")
	client.http.Transport.(*http.Transport).DialContext = p.dial
	return client
}

func (p *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.accepted <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipeListener) Close() error {
	close(p.closed)
	return nil
}

func (p *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func mustCreate(t *testing.T, c *Client, i Instance) Instance {
	t.Helper()
	created, err := c.Operator().CreateInstance(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func mustSet(t *testing.T, c *Client, f Fault) {
	t.Helper()
	if f.Name == "" {
		f.Name = string(f.Kind)
	}
	if err := c.SetFault(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// names lists the names of the instances that a caller sees.
func names(t *testing.T, c *Client) []string {
	t.Helper()
	all, err := c.Instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names
}

// code returns the code of an APIError.
func code(err error) string {
	if answered, ok := errors.AsType[*APIError](err); ok {
		return answered.Code
	}
	return ""
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, row := range map[string]struct {
		config Config
		want   string
	}{
		"NegativePages":      {Config{PageSize: -1}, "page size -1 is negative"},
		"NegativeTransition": {Config{Transition: -1}, "the delays of instances must not be negative"},
		"NegativePending":    {Config{Provisioning: -1}, "the delays of load balancers must not be negative"},
		"NegativeDrain":      {Config{Drain: -1}, "the delays of load balancers must not be negative"},
		"NegativeQuota":      {Config{MaxBackends: -1}, "a quota must not be negative; 0 means no limit"},
		"NegativeChecks":     {Config{Checks: Checks{Interval: -1}}, "health checks: interval, timeout and thresholds must not be negative"},
		"HostWithAPort":      {Config{AllowedHosts: []string{"cloud.test", "cloud.test:80"}}, `allowed host "cloud.test:80" must be a name in lower case without a port`},
		"BadStandingFault":   {Config{Standing: []Fault{{Name: "--quota", Kind: FaultThrottle}}}, "--quota: rate: must be positive: calls a second"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(row.config)
			if err == nil || err.Error() != row.want {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}
