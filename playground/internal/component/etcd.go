package component

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// EtcdOptions are the flags of the etcd component.
type EtcdOptions struct {
	DataDir, Listen, CAFile, CertFile, KeyFile string
}

// Args returns the flags that set o.
func (o EtcdOptions) Args() []string {
	return []string{
		"--data-dir=" + o.DataDir,
		"--listen=" + o.Listen,
		"--ca-file=" + o.CAFile,
		"--cert-file=" + o.CertFile,
		"--key-file=" + o.KeyFile,
	}
}

func newEtcdCommand() *cobra.Command {
	var o EtcdOptions
	cmd := &cobra.Command{
		Use:  Etcd,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runEtcd(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.DataDir, "data-dir", "", "folder of the data")
	f.StringVar(&o.Listen, "listen", "", "URL to serve clients on")
	f.StringVar(&o.CAFile, "ca-file", "", "certificate authority of the clients")
	f.StringVar(&o.CertFile, "cert-file", "", "certificate of the server")
	f.StringVar(&o.KeyFile, "key-file", "", "private key of the server")
	return cmd
}

func runEtcd(ctx context.Context, o EtcdOptions) error {
	config, err := o.config()
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

func (o EtcdOptions) config() (*embed.Config, error) {
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
	// The only member needs no door for others.
	config.ListenPeerUrls = nil
	config.ClientTLSInfo = transport.TLSInfo{
		CertFile: o.CertFile, KeyFile: o.KeyFile, TrustedCAFile: o.CAFile, ClientCertAuth: true,
	}
	// The data has to outlive processes, for which the page cache is enough, and not the machine.
	config.UnsafeNoFsync = true
	return config, nil
}
