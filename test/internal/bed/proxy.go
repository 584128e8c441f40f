package bed

import (
	"testing"

	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

// BeforeAPIServer starts a proxy in front of the API server.
func (b *Bed) BeforeAPIServer(t *testing.T) *proxy.Proxy {
	t.Helper()
	return startProxy(t, b.Cluster.Server, b.Cluster.CAFile)
}

// BeforeCloud starts a proxy in front of a cloud.
func BeforeCloud(t *testing.T, c *Cloud) *proxy.Proxy {
	t.Helper()
	return startProxy(t, c.URL, "")
}

func startProxy(t *testing.T, server, caFile string) *proxy.Proxy {
	t.Helper()
	p, err := proxy.Start(t.Context(), server, ReadFile(t, caFile))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// AwaitPlace waits until the trap has the request at this place. If the first request of
// its kind does not come, the test fails. If a later request does not come, AwaitPlace
// skips the test: the request may have been a retry when the requests were counted.
func AwaitPlace(t *testing.T, trap *proxy.Trap, place proxy.Place) {
	t.Helper()
	if place.N == 1 {
		AwaitTrap(t, trap)
		return
	}
	if !timeout.Closed(expect.Soon, trap.Sprung()) {
		t.Skipf("this time there was no %s", place)
	}
}

// AwaitTrap waits until the trap has its request.
func AwaitTrap(t *testing.T, trap *proxy.Trap) {
	t.Helper()
	if !timeout.Closed(expect.Soon, trap.Sprung()) {
		t.Fatal("the request for the trap has not come")
	}
}

// RestartAPIServer kills the API server and starts it again. The request that the
// trap holds has not reached the API server, and is lost.
func (b *Bed) RestartAPIServer(t *testing.T, trap *proxy.Trap) {
	t.Helper()
	if _, err := b.Command(t.Context(), "stop", "--kill", "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	trap.Release() // nothing receives the request
	if _, err := b.Command(t.Context(), "start", "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
}
