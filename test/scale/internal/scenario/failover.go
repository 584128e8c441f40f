package scenario

import (
	"context"
	"fmt"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/cluster"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

var failover = Scenario{
	Name: "failover",
	What: func(s Settings) string {
		return fmt.Sprintf("%d initialised Nodes and two replicas. The leader is ended, once by SIGTERM and once by SIGKILL, and a Node joins at once.", s.Nodes)
	},
	Provider: contender.Simulated,
	Size:     atMost(500),
	Flags:    noFlags,
	run: func(ctx context.Context, t *trial) error {
		if _, err := t.fleet(ctx, cluster.Initialized); err != nil {
			return err
		}
		if err := t.lead(ctx, t.even()); err != nil {
			return err
		}
		if err := t.begin(ctx); err != nil {
			return err
		}
		for _, end := range []struct {
			what   string
			signal syscall.Signal
		}{
			{report.AfterSIGTERM, syscall.SIGTERM},
			{report.AfterSIGKILL, syscall.SIGKILL},
		} {
			if err := t.handOver(ctx, end.what, end.signal); err != nil {
				return err
			}
		}
		return t.end(ctx)
	},
}

// handOver starts another replica and ends the leader. A new Node joins at
// once. The result is the time until the new replica has initialised that Node.
func (t *trial) handOver(ctx context.Context, what string, s syscall.Signal) error {
	const within = 2 * time.Minute
	leader := t.daemons[len(t.daemons)-1]
	standby, err := t.replica()
	if err != nil {
		return err
	}
	if err := t.poll(ctx, within, func() error { return standby.Healthy(ctx) }); err != nil {
		return err
	}
	// The standby must have read the lease before the leader ends. By default, it reads
	// the lease every two to four seconds.
	if err := t.wait(ctx, 5*time.Second); err != nil {
		return err
	}
	ended := t.clock.Now()
	signalled := make(chan error, 1)
	go func() { signalled <- leader.End(s) }()
	joined, err := t.join(ctx, 1, uninitialized)
	if err != nil {
		return err
	}
	err = t.nodes.Await(ctx, within, func(nodes map[string]*corev1.Node) error {
		if node := nodes[joined[0].Name]; node == nil || !cluster.IsInitialized(node) {
			return fmt.Errorf("node %s is not initialised", joined[0].Name)
		}
		return nil
	})
	if err := t.took(err, what, t.clock.Since(ended)); err != nil {
		return err
	}
	return <-signalled
}
