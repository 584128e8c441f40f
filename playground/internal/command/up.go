package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/playground/internal/cluster"
	"github.com/fairlead-k8s/fairlead/playground/internal/follow"
	"github.com/fairlead-k8s/fairlead/playground/internal/nodeport"
	"github.com/fairlead-k8s/fairlead/playground/internal/progress"
	"github.com/fairlead-k8s/fairlead/playground/internal/session"
	"github.com/fairlead-k8s/fairlead/simulator"
)

const (
	outputText = "text"
	outputJSON = "json"
)

// up implements the command `playground up`.
type up struct {
	cluster clusterFlags
	nodes   int
	cloud   string
	dataDir string
	output  string
	timeout time.Duration

	clock       clock.WithTicker
	out, people io.Writer
}

func newUp(clock clock.WithTicker) *cobra.Command {
	u := &up{clock: clock}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring up a control plane and nodes, and keep them running until Ctrl-C",
		Example: `  playground up --nodes 2
  playground up --cloud http://127.0.0.1:8080 --audit-log
  playground up --cluster-cidr 10.244.0.0/16,fd00:10:244::/56 --service-cidr 10.96.0.0/16,fd00:10:96::/112
  playground up --data-dir /tmp/cluster -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			u.out, u.people = cmd.OutOrStdout(), cmd.OutOrStdout()
			if u.output == outputJSON {
				u.people = cmd.ErrOrStderr()
			}
			return u.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.IntVar(&u.nodes, "nodes", 1, "number of nodes: node-1, node-2, …; about 100 MB of memory each")
	f.StringVar(&u.cloud, "cloud", "", "URL of a simulated cloud; each running instance gets a node of the same name, which also answers on node ports")
	f.StringVar(&u.dataDir, "data-dir", "", "folder for all files; it is kept, and a later start with it continues the cluster (default: a temporary folder)")
	f.StringVarP(&u.output, "output", "o", outputText, "text, or json: prints one line on stdout when all is ready, and everything else on stderr")
	f.DurationVar(&u.timeout, "timeout", 2*time.Minute, "how long it may take until all is ready")
	u.cluster.add(f)
	cmd.MarkFlagsMutuallyExclusive("nodes", "cloud")
	return cmd
}

func (u *up) run(ctx context.Context) error {
	if u.output != outputText && u.output != outputJSON {
		return fmt.Errorf("--output: %q is neither text nor json", u.output)
	}
	if u.nodes < 0 {
		return errors.New("--nodes: must not be negative")
	}
	return session.Run(ctx, u.dataDir, func(ctx context.Context, s *session.Session) error {
		config, err := u.cluster.config(s.DataDir, u.clock)
		if err != nil {
			return err
		}
		c := cluster.New(config, s.Children)
		if err := u.start(ctx, s, c); err != nil {
			return err
		}
		if err := u.announce(c.Endpoints(), s.LogDir); err != nil {
			return err
		}
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			return cause
		}
		return nil
	})
}

func (u *up) start(ctx context.Context, s *session.Session, c *cluster.Cluster) error {
	steps := progress.To(u.people, u.clock)
	starting, cancel := context.WithTimeoutCause(ctx, u.timeout, fmt.Errorf("not ready after %s (--timeout)", u.timeout))
	defer cancel()
	if err := c.Start(starting, steps); err != nil {
		return err
	}
	if u.cloud != "" {
		follower := follow.New(simulator.NewClient(u.cloud).Operator(), c, steps.Note)
		s.Go(func() error { return follower.Run(ctx, u.clock) })
		responder := nodeport.New(c, u.clock, steps.Note)
		s.Go(func() error { return s.Logged(nodeport.Log, responder.Run)(ctx) })
		steps.Note("nodes follow the instances of %s", u.cloud)
		return nil
	}
	names := make([]string, u.nodes)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i+1)
	}
	return steps.Do(fmt.Sprintf("%d nodes registered", u.nodes), func() error {
		for _, name := range names {
			if err := c.BootNode(name); err != nil {
				return fmt.Errorf("node %s: %w", name, err)
			}
		}
		return c.AwaitNodes(starting, names)
	})
}

// announce prints that the cluster is ready, and explains how to use it.
func (u *up) announce(e cluster.Endpoints, logs string) error {
	if u.output == outputJSON {
		return json.NewEncoder(u.out).Encode(e)
	}
	_, err := fmt.Fprintf(u.out, `
Ready. In another terminal:

  export KUBECONFIG=%s
  kubectl get nodes

Kubeconfig for a cloud-controller-manager: %s
Logs: %s
Ctrl-C ends it all.
`, e.Kubeconfig, e.CCMKubeconfig, logs)
	return err
}
