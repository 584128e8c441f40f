//go:build linux

// Command playground runs a real Kubernetes control plane with real kubelet code on one machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/printable"
	"github.com/fairlead-k8s/fairlead/playground/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	root := command.New(clock.RealClock{})
	// The output contains text of the cluster and the cloud. The writer makes this text safe for a
	// terminal.
	stderr := printable.Writer(os.Stderr)
	root.SetOut(printable.Writer(os.Stdout))
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	stop()
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "Interrupted.")
		os.Exit(130)
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "Error: %v\n", err)
		os.Exit(1)
	}
}
