package ccm

import (
	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/internal/app"
)

// Options are what a program may choose beside its flags. The zero value is
// what Main uses.
type Options struct {
	// Name of the command in its help and its messages. Empty means
	// cloud-controller-manager.
	Name string
}

// NewCommand returns the daemon as a command. It works until the command's
// context ends, then finishes its work in flight and gives its lease back: a
// program that runs the command itself should end that context on SIGTERM.
func NewCommand(o Options) *cobra.Command {
	if o.Name == "" {
		o.Name = "cloud-controller-manager"
	}
	return app.NewCommand(o.Name)
}
