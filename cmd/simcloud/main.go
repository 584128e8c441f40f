// Command simcloud is a simulated cloud on this machine, and the tool to inspect
// it and to make it fail.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "simcloud:", err)
		os.Exit(1)
	}
}
