// Package component has the programs that the child processes of the playground run: the
// unchanged commands of the control plane, etcd, and a kubelet without containers. A
// process runs only one of these programs, because they share global flags, feature gates
// and metrics.
package component

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/fairlead-k8s/fairlead/playground/internal/child"
	"github.com/fairlead-k8s/fairlead/playground/internal/kubelet"
)

// upstream lists the commands of the control plane. Creating a command changes global
// state, so only the command that is to run is created.
var upstream = []struct {
	name string
	new  func() *cobra.Command
}{
	{child.APIServer, apiserver.NewAPIServerCommand},
	{child.ControllerManager, controllermanager.NewControllerManagerCommand},
	{child.Scheduler, func() *cobra.Command { return scheduler.NewSchedulerCommand() }},
}

// NewCommand returns the command `playground run COMPONENT …`. It is hidden, because only the
// playground itself calls it.
func NewCommand() *cobra.Command {
	run := &cobra.Command{
		Use:    child.Run + " COMPONENT",
		Short:  "Run one component of the control plane in this process",
		Hidden: true,
		Args:   cobra.NoArgs,
	}
	for _, c := range upstream {
		run.AddCommand(&cobra.Command{
			Use:                c.name,
			DisableFlagParsing: true,
			RunE: func(_ *cobra.Command, args []string) error {
				component := c.new()
				component.SetArgs(args)
				return cli.RunNoErrOutput(component)
			},
		})
	}
	run.AddCommand(newEtcdCommand(), newKubeletCommand())
	return run
}

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

func newEtcdCommand() *cobra.Command {
	var o child.EtcdOptions
	cmd := &cobra.Command{
		Use:  child.Etcd,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runEtcd(cmd.Context(), o) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runEtcd(ctx context.Context, o child.EtcdOptions) error {
	config, err := etcdConfig(o)
	if err != nil {
		return err
	}
	server, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer server.Close()
	select {
	case err := <-server.Err():
		return fmt.Errorf("etcd: %w", err)
	case <-server.Server.StopNotify():
		return errors.New("etcd has stopped")
	case <-ctx.Done():
		return nil
	}
}

func etcdConfig(o child.EtcdOptions) (*embed.Config, error) {
	listen, err := url.Parse(o.Listen)
	if err != nil {
		return nil, err
	}
	config := embed.NewConfig()
	config.Dir = o.DataDir
	config.LogLevel = "warn"
	config.LogOutputs = []string{embed.StdErrLogOutput}
	config.ListenClientUrls = []url.URL{*listen}
	config.AdvertiseClientUrls = config.ListenClientUrls
	// This etcd is the only member, so it needs no port for other members.
	config.ListenPeerUrls = nil
	config.ClientTLSInfo = transport.TLSInfo{
		CertFile: o.CertFile, KeyFile: o.KeyFile, TrustedCAFile: o.CAFile, ClientCertAuth: true,
	}
	// Without fsync, the data stays in the page cache, so it survives the end of the
	// process. It need not survive a crash of the machine.
	config.UnsafeNoFsync = true
	return config, nil
}
