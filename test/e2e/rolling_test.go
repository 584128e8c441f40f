package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/replicas"
	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

// Both replicas are replaced, one after the other, as in the rollout of a
// Deployment. Meanwhile nodes join and Services are created. Nothing is lost, and
// nothing is made twice. A Node that joins waits for at most one hand-over.
func TestRollingRestartUnderLoad(t *testing.T) {
	const every = 300 * time.Millisecond
	b := onShared(t)
	c := b.NewCloud(t, "--traffic=false", "--latency=20ms")
	s := daemon.Setup{Flags: []string{"--configure-cloud-routes=true", "--cluster-cidr=10.128.0.0/9"}}
	leader, standby := replicas.Pair(t, b, c, s)
	joins(t, b, c, expect.Soon)

	var names, services []string
	wait, mayLack := waits{}, map[string]bool{}
	join := func() {
		_, node := b.Pair(t, c, simulator.Instance{Name: b.Name("rolling")})
		names, wait[node.Name] = append(names, node.Name), timeout.New(plannedHandOver+noise)
		if len(names)%3 == 0 {
			services = append(services, lbservice.On(b).Balanced(t, "rolling"))
		}
	}
	joinUntil := func(what string, holds func() bool) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for limit := timeout.New(expect.Soon); !holds(); <-tick.C {
			if limit.IsOver() {
				t.Fatalf("not within %v: %s", expect.Soon, what)
			}
			join()
			if err := wait.look(t.Context(), t, b); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, old := range []replicas.Replica{standby, leader} {
		next := replicas.New(t, b, c, s)
		joinUntil("the new replica stands by", func() bool { return len(next.API.Requests(replicas.OfLeases)) >= 2 })
		old.Signal(syscall.SIGTERM)
		joinUntil("the old replica ends", old.Ended)
		if code := old.AwaitExit(t, expect.Soon); code != 0 {
			t.Errorf("a replica has ended with code %d after SIGTERM, want 0", code)
		}
		for _, r := range old.API.Requests(patches) {
			if time.Since(r.Began) < timeout.Extended(drain) {
				mayLack[strings.Split(strings.TrimPrefix(r.Path, "/api/v1/nodes/"), "/")[0]] = true
			}
		}
	}
	for range 5 {
		join()
	}
	expect.Within(t, time.Minute, func(ctx context.Context) error {
		return errors.Join(wait.look(ctx, t, b), clusterIsWhole(ctx, b, c, names, services))
	})
	gap := longestWait(t, b, names, mayLack)
	t.Logf("%d nodes and %d Services came while both replicas were replaced; the longest wait of a node was %v", len(names), len(services), gap.Round(time.Millisecond))
	noOverlap(t, leader, standby)
}

// waits has the time limits for the initialisation of Nodes, by name. The method look
// removes each Node that is initialised.
type waits map[string]timeout.Timeout

// look reads all Nodes. It fails the test for each Node that still waits after its time
// limit.
func (w waits) look(ctx context.Context, t *testing.T, b *bed.Bed) error {
	t.Helper()
	list, err := b.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range list.Items {
		limit, ok := w[node.Name]
		switch {
		case !ok:
		case !nodes.IsTainted(&node):
			delete(w, node.Name)
		case limit.IsOver():
			delete(w, node.Name)
			t.Errorf("node %s has waited for %v, want %v at most", node.Name, limit.Elapsed().Round(time.Millisecond), plannedHandOver)
		}
	}
	return nil
}

// clusterIsWhole returns nil when each Node is initialised and has exactly one route,
// and each Service has exactly one load balancer.
func clusterIsWhole(ctx context.Context, b *bed.Bed, c *bed.Cloud, names, services []string) error {
	routes, err := c.Routes(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		node, err := b.Admin.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := nodes.Initialized(node); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
		own := slices.DeleteFunc(slices.Clone(routes), func(r simulator.Route) bool { return r.Destination != node.Spec.PodCIDR })
		if len(own) != 1 {
			return fmt.Errorf("node %s has %d routes for %s", name, len(own), node.Spec.PodCIDR)
		}
	}
	balancers, err := c.LoadBalancers(ctx)
	if err != nil {
		return err
	}
	for _, name := range services {
		service, err := b.Admin.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		own := slices.DeleteFunc(slices.Clone(balancers), func(l simulator.LoadBalancer) bool {
			return l.Tags[simulated.TagService] != metav1.NamespaceDefault+"/"+name
		})
		if len(own) != 1 || len(service.Status.LoadBalancer.Ingress) != 1 {
			return fmt.Errorf("service %s has %d load balancers and shows %v", name, len(own), service.Status.LoadBalancer.Ingress)
		}
	}
	return nil
}

// longestWait returns the longest time between the creation of a Node and the
// event that it was initialised. A replica that ends loses the events that it has not
// written yet, so the Nodes in mayLack may lack the event.
func longestWait(t *testing.T, b *bed.Bed, names []string, mayLack map[string]bool) time.Duration {
	t.Helper()
	var longest time.Duration
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		events, err := b.Admin.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "reason=Synced"})
		if err != nil {
			return err
		}
		told := map[string]corev1.Event{}
		for _, e := range events.Items {
			told[e.InvolvedObject.Name] = e
		}
		longest = 0
		for _, name := range names {
			e, ok := told[name]
			switch {
			case !ok && mayLack[name]:
				continue
			case !ok:
				return fmt.Errorf("no event for node %s", name)
			}
			node, err := b.Admin.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			longest = max(longest, e.FirstTimestamp.Sub(node.CreationTimestamp.Time))
		}
		return nil
	})
	return longest
}
