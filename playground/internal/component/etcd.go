package component

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/fairlead-k8s/fairlead/playground/internal/child"
)

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
