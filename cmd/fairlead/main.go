// Command fairlead is the companion of the daemon, for those who build and run
// one.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	kubernetes "k8s.io/component-base/version"

	"github.com/fairlead-k8s/fairlead/internal/versions"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand(versions.Own(kubernetes.Get().GitVersion)).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fairlead:", err)
		os.Exit(1)
	}
}
