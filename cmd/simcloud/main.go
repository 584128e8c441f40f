// Command simcloud is a simulated cloud on this machine, and the tool to inspect
// it and to make it fail.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/fairlead-k8s/fairlead/internal/printable"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, shown(err))
		os.Exit(1)
	}
}

// shown returns the line that shows an error. The cloud may have written parts of the
// error, so the line has no control characters and no secrets.
func shown(err error) string {
	return printable.Line("simcloud: "+printable.WithoutSecrets(err.Error()), textLimit)
}
