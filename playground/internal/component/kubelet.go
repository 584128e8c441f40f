package component

import (
	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/playground/internal/child"
	"github.com/fairlead-k8s/fairlead/playground/internal/kubelet"
)

func newKubeletCommand() *cobra.Command {
	var o child.KubeletOptions
	cmd := &cobra.Command{
		Use:  child.Kubelet,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return kubelet.Run(cmd.Context(), o) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}
