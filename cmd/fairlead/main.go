// Command fairlead is the companion of the daemon, for those who build and run
// one.
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
	if err := newCommand(ownVersion()).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fairlead:", err)
		os.Exit(1)
	}
}
