package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/cluster"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// routesWithin is the longest time to wait for routes.
const routesWithin = 10 * time.Minute

// withRoutes returns the flags that turn routes on. Both contenders know these flags.
func withRoutes(Settings) []string {
	return []string{"--configure-cloud-routes=true", "--cluster-cidr=" + cluster.PodCIDRs}
}

var routesInit = Scenario{
	Name: "routes-init",
	What: func(s Settings) string {
		return fmt.Sprintf("%d initialised Nodes without routes are there when the daemon starts.", s.Nodes)
	},
	Provider: contender.Simulated,
	Flags:    sameFlags(withRoutes),
	Size:     atMost(1000),
	Quiet:    []contender.Name{contender.Fairlead},
	run: func(ctx context.Context, t *trial) error {
		if _, err := t.fleet(ctx, cluster.Initialized); err != nil {
			return err
		}
		if err := t.begin(ctx); err != nil {
			return err
		}
		if _, err := t.replica(); err != nil {
			return err
		}
		if err := t.until(ctx, report.AllRouted, routesWithin, allRouted); err != nil {
			return err
		}
		if err := t.countRoutes(ctx); err != nil {
			return err
		}
		return t.rest(ctx)
	},
}

// allRouted returns nil if each Node has a condition that says that its network is
// available.
func allRouted(nodes map[string]*corev1.Node) error {
	routed := 0
	for _, node := range nodes {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionFalse {
				routed++
			}
		}
	}
	if routed < len(nodes) {
		return fmt.Errorf("%d of %d Nodes have routes", routed, len(nodes))
	}
	return nil
}

// countRoutes checks that the cloud has as many routes as there are Nodes.
func (t *trial) countRoutes(ctx context.Context) error {
	routes, err := t.cloud.Routes(ctx)
	if err != nil {
		return err
	}
	if len(routes) != t.Nodes {
		return fmt.Errorf("%d routes for %d Nodes", len(routes), t.Nodes)
	}
	return nil
}
