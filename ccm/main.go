package ccm

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/cli"
)

// Main is the whole main function of a program: it runs the daemon until
// SIGTERM or SIGINT and ends the process, with exit code 0 if it stopped as asked. A
// second signal ends it at once.
func Main() { MainWith(Options{}) }

// MainWith is Main with options.
func MainWith(o Options) { os.Exit(Run(o)) }

// Run does the same as MainWith, but returns the exit code instead of ending the
// process. After a second signal it does not return, because that ends the process
// at once.
func Run(o Options) int {
	cmd := NewCommand(o)
	cmd.SetContext(untilSignal())
	return cli.Run(cmd)
}

// untilSignal returns a context that the first signal ends.
func untilSignal() context.Context {
	ctx, stop := context.WithCancelCause(context.Background())
	received := make(chan os.Signal, 2)
	signal.Notify(received, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		stop(fmt.Errorf("signal: %v", <-received))
		<-received
		os.Exit(1)
	}()
	return ctx
}
