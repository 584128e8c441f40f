package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/test/e2e/proxy"
)

// soon is for what takes a second or two, on a machine that does something
// else as well.
const soon = 30 * time.Second

// onShared returns the bed that this test has for itself while it runs.
func onShared(t *testing.T) *bed {
	t.Helper()
	skipWithoutPrograms(t)
	shared.check(t)
	return shared
}

// onOwn brings up a bed for a test that mostly waits; it runs beside others of
// that kind. The args are further ones for the playground.
func onOwn(t *testing.T, args ...string) *bed {
	t.Helper()
	skipWithoutPrograms(t)
	t.Parallel()
	return ownBed(t, args...)
}

func ownBed(t *testing.T, args ...string) *bed {
	t.Helper()
	b, err := newBed(t.Context(), shared.programs, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	b.check(t)
	return b
}

func skipWithoutPrograms(t *testing.T) {
	t.Helper()
	if shared == nil {
		t.Skip("needs a control plane; run it with: make e2e")
	}
}

// check looks at the end of the test whether what must always hold has held.
func (b *bed) check(t *testing.T) {
	t.Helper()
	mark, seen := b.audit(t).mark(), b.guard.count()
	t.Cleanup(func() {
		for _, violation := range b.guard.since(seen) {
			t.Errorf("S6: %s", violation)
		}
		all := b.audit(t).since(mark)
		for _, r := range all.ofStrangers() {
			t.Errorf("C1: the daemon acts as %s: %s", r.User.Username, r)
		}
		ours := all.ours()
		var rights map[string]bool
		if slices.ContainsFunc(ours, request.isForbidden) {
			rights = b.audit(t).since(0).ours().rights() // A watch is written down when it ends.
		}
		for _, problem := range ours.outsideEnvelope(rights) {
			t.Errorf("C1: %s", problem)
		}
		used.record(t.Name(), ours)
		if b.playground.Ended() {
			t.Fatalf("the playground has ended:\n%s", b.playground.Tail(50))
		}
	})
}

// name is one that nothing else has.
func (b *bed) name(base string) string { return fmt.Sprintf("%s-%d", base, b.sequence.Add(1)) }

// bareCloud starts a cloud that no kubelet follows.
func (b *bed) bareCloud(t *testing.T, flags ...string) *cloud {
	t.Helper()
	c, err := startCloud(t.Context(), b.programs, b.dir, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// apiProxy stands before the API server.
func (b *bed) apiProxy(t *testing.T) *proxy.Proxy {
	t.Helper()
	return startProxy(t, b.cluster.Server, b.cluster.CAFile)
}

// proxyOf stands before a cloud.
func proxyOf(t *testing.T, c *cloud) *proxy.Proxy {
	t.Helper()
	return startProxy(t, c.url, "")
}

func startProxy(t *testing.T, server, caFile string) *proxy.Proxy {
	t.Helper()
	p, err := proxy.Start(t.Context(), server, read(t, caFile))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// sprung waits for the request that the trap is for.
func sprung(t *testing.T, trap *proxy.Trap) {
	t.Helper()
	select {
	case <-trap.Sprung():
	case <-time.After(soon):
		t.Fatal("the request that is to be trapped has not come")
	}
}

// await looks until check finds nothing wrong, and fails the test with what it
// found last.
func await(t *testing.T, within time.Duration, check func(context.Context) error) {
	t.Helper()
	awaitWith(t.Context(), t, within, check)
}

// awaitWith is for cleanups, where the test's own context has ended.
func awaitWith(ctx context.Context, t *testing.T, within time.Duration, check func(context.Context) error) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %v", within, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(errors.Join(ctx.Err(), err))
		}
	}
}

// cleanup runs f at the end of the test, with time of its own.
func cleanup(t *testing.T, f func(context.Context) error) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if err := f(ctx); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
}

// freePort is one that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}
