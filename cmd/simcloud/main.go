// Command simcloud is a simulated cloud on this machine, and the tool to inspect
// it and to make it fail.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/fairlead-k8s/fairlead/internal/printable"
	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, shown(err))
		os.Exit(exitCode(err))
	}
}

// exitCode returns the code that says how the command has failed. The conformance suite
// reads it.
func exitCode(err error) int {
	if errors.Is(err, conformance.ErrCannot) {
		return 3
	}
	return 1
}

// shown returns the line that shows an error. The cloud may have written parts of the
// error, so the line has no control characters and no secrets.
func shown(err error) string {
	return printable.Line("simcloud: "+printable.WithoutSecrets(err.Error()), textLimit)
}
