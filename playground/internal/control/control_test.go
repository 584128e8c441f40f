package control

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/playground/internal/supervisor"
)

// serve starts a child with the name c, and returns a client that can control the child. The
// folder's path is too long for a socket.
func serve(t *testing.T) *Client {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	children := supervisor.New(dir, func(err error) { t.Error(err) })
	if err := children.Start(supervisor.Spec{Name: "c", Command: []string{"/bin/sleep", "600"}}); err != nil {
		t.Fatal(err)
	}
	listener, err := Listen(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- Serve(ctx, listener, children) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		children.Close()
	})
	return NewClient(dir)
}

func pid(t *testing.T, c *Client) int {
	t.Helper()
	list, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].Name != "c" {
		t.Fatalf("got %v, want the child c", list)
	}
	return list[0].PID
}

func TestStopAndStart(t *testing.T) {
	c := serve(t)
	for _, how := range []Manner{Politely, AtOnce} {
		if err := c.Stop(t.Context(), "c", how); err != nil {
			t.Fatal(err)
		}
		if got := pid(t, c); got != 0 {
			t.Errorf("it runs as %d", got)
		}
		if err := c.Start(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		if pid(t, c) == 0 {
			t.Error("it does not run")
		}
	}
}

func TestRestart(t *testing.T) {
	c := serve(t)
	before := pid(t, c)
	if err := c.Restart(t.Context(), "c", AtOnce); err != nil {
		t.Fatal(err)
	}
	if after := pid(t, c); after == 0 || after == before {
		t.Errorf("it ran as %d and now as %d", before, after)
	}
}

func TestErrorsAreTold(t *testing.T) {
	c := serve(t)
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"UnknownChild":   {c.Restart(t.Context(), "other", Politely), "other: no such child"},
		"StartOfRunning": {c.Start(t.Context(), "c"), "c: is already running"},
		"NoPlayground":   {NewClient(t.TempDir()).Start(t.Context(), "c"), "no playground runs on "},
	} {
		t.Run(name, func(t *testing.T) {
			if test.err == nil || !strings.HasPrefix(test.err.Error(), test.want) {
				t.Errorf("got %v, want %s", test.err, test.want)
			}
		})
	}
}
