package simulator

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

const (
	serverIdleTimeout = 3 * time.Minute
	// shutdownGrace is the longest time that the server waits for open requests when it
	// stops.
	shutdownGrace = 5 * time.Second
)

// Serve serves the cloud on the listener until the context ends. Then it closes the
// listener. Calls that a fault still delays (latency, hang) end without an answer. With
// Config.Traffic, Serve also carries the load balancers' traffic.
func (c *Cloud) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           c,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       serverIdleTimeout,
	}
	ctx, cancel := context.WithCancel(ctx)
	defer c.forwarder.Start(ctx)()
	defer cancel()
	stopped := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
		case <-done:
		}
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		stopped <- server.Shutdown(grace)
	}()
	err := server.Serve(listener)
	close(done)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, <-stopped)
}
