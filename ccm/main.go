package ccm

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/cli"
)

// Main is the whole main function of a program: it runs the daemon until
// SIGTERM or SIGINT and ends the process, with 0 if it stopped as asked. A
// second signal ends it at once.
func Main() {
	ctx, restore := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, restore)
	cmd := NewCommand(Options{})
	cmd.SetContext(ctx)
	os.Exit(cli.Run(cmd))
}
