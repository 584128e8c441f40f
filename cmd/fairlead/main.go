// Command fairlead is the companion of the daemon, for those who build and run one.
// Under the name kubectl-fairlead, it is a plugin of kubectl.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	kubernetes "k8s.io/component-base/version"

	"github.com/fairlead-k8s/fairlead/internal/inspect"
	"github.com/fairlead-k8s/fairlead/internal/printable"
	"github.com/fairlead-k8s/fairlead/internal/versions"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	name := calledAs(os.Args[0])
	command := newCommand(versions.Own(kubernetes.Get().GitVersion))
	show(command, name)
	err := command.ExecuteContext(ctx)
	if err != nil && err.Error() != "" {
		_, _ = fmt.Fprintf(printable.Writer(os.Stderr), "%s: %v\n", name, err)
	}
	if code := inspect.Code(err); code != 0 {
		os.Exit(code)
	}
}
