package simulator

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
)

func TestServeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		pipes := newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- cloud.Serve(ctx, pipes) }()
		c := pipes.client()
		mustSet(t, c, Fault{Kind: FaultHang})
		hung := make(chan error, 1)
		go func() {
			_, err := c.CreateInstance(t.Context(), Instance{Name: "node-1"})
			hung <- err
		}()
		synctest.Wait()
		cancel()
		diff(t, "Serve", nil, <-served)
		if err := <-hung; err == nil {
			t.Error("a call that hung was answered when the server stopped")
		}
		if _, err := c.Instances(t.Context()); err == nil {
			t.Error("the server still answers")
		}
		c.CloseIdleConnections()
	})
}

func TestServeSaysWhyItEnded(t *testing.T) {
	cloud, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cloud.Serve(t.Context(), listener); err == nil {
		t.Error("a closed listener was served")
	}
}
