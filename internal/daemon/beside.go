package daemon

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// besideTimeout bounds the search for another manager.
const besideTimeout = 30 * time.Second

// lookBeside searches in the background for another manager that works in the
// cluster, and logs the result. It searches once, a while after this replica has
// begun to lead. The argument lasting is the context for its event. The returned
// function waits until the search has ended.
func (p *Process) lookBeside(ctx, lasting context.Context) (wait func()) {
	var looking sync.WaitGroup
	looking.Go(func() {
		if p.Options.Nodes != nil || !sleep.For(ctx, cluster.BesideAfter) {
			return // Options.Nodes divides the Nodes between managers, or this replica has ended.
		}
		logger := klog.FromContext(ctx)
		other, err := p.beside(ctx)
		switch {
		case err != nil:
			logger.V(2).Info("Did not look for another manager", "why", err)
		case other.Works:
			logger.Info("Warning: another manager is at work", "why", other.Text)
			p.leaseRecorder(lasting)(anotherManagerAtWork.Event(other.Text))
		case other.Text != "":
			logger.Info("Warning: another manager may be at work", "why", other.Text)
		default:
			logger.V(2).Info("No other manager is visible")
		}
	})
	return looking.Wait
}

// beside returns the visible signs of another manager. It does not ask for objects
// that this process may not list.
func (p *Process) beside(ctx context.Context) (cluster.Other, error) {
	ctx, cancel := context.WithTimeout(ctx, besideTimeout)
	defer cancel()
	config, err := p.clients.own.Config(settings.ManagerName)
	if err != nil {
		return cluster.Other{}, fmt.Errorf("client: %w", err)
	}
	now := &cluster.Clock{Now: clock.RealClock{}.Now}
	config.Wrap(now.Wrap)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return cluster.Other{}, fmt.Errorf("client: %w", err)
	}
	seen, err := cluster.ReadBeside(ctx, client, now)
	if err != nil {
		return cluster.Other{}, err
	}
	// The API server records writes under the first part of the user agent.
	program, _, _ := strings.Cut(config.UserAgent, "/")
	self := cluster.Self{Program: program, Line: p.Settings.Line()}
	if e := p.Settings.Election; e.LeaderElect {
		self.Lease = e.Lease().String()
	}
	return seen.Beside(self), nil
}
