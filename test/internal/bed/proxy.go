package bed

import (
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

// BeforeAPIServer stands before the API server.
func (b *Bed) BeforeAPIServer(t *testing.T) *proxy.Proxy {
	t.Helper()
	return startProxy(t, b.Cluster.Server, b.Cluster.CAFile)
}

// BeforeCloud stands before a cloud.
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

// AwaitPlace waits for the request at this place. One that is not the first of
// its kind may have been a retry when the requests were counted; the test is
// skipped then.
func AwaitPlace(t *testing.T, trap *proxy.Trap, place proxy.Place) {
	t.Helper()
	if place.N == 1 {
		AwaitTrap(t, trap)
		return
	}
	select {
	case <-trap.Sprung():
	case <-time.After(expect.Soon):
		t.Skipf("this time there was no %s", place)
	}
}

// AwaitTrap waits for the request that the trap is for.
func AwaitTrap(t *testing.T, trap *proxy.Trap) {
	t.Helper()
	select {
	case <-trap.Sprung():
	case <-time.After(expect.Soon):
		t.Fatal("the request that is to be trapped has not come")
	}
}

// RestartAPIServer kills the API server while a request is trapped before it,
// and starts it again.
func (b *Bed) RestartAPIServer(t *testing.T, trap *proxy.Trap) {
	t.Helper()
	if _, err := b.Command(t.Context(), "stop", "--kill", "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	trap.Release() // into the void
	if _, err := b.Command(t.Context(), "start", "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
}
