package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

// Nodes come and go while 200 Services get their load balancers. The cloud is slow,
// and fails now and then. Calls about one load balancer never overlap. In the end,
// each load balancer has the last set of nodes (S3).
func TestLastSetOfNodesWins(t *testing.T) {
	const (
		size  = 200
		takes = simulator.Duration(time.Second)
	)
	b := onOwn(t)
	p := nodepool.New(t, b, 20)
	s := lbservice.Services{Bed: b, Cloud: p.Cloud}
	for _, f := range []simulator.Fault{
		{Name: "slow", Kind: simulator.FaultLatency, Latency: takes, Jitter: takes / 2},
		{Name: "fails", Kind: simulator.FaultError, Probability: 0.02},
	} {
		f.Calls = []simulator.Call{simulator.CreateLoadBalancer, simulator.UpdateLoadBalancer}
		s.Cloud.Fail(t, f)
	}
	front := bed.BeforeCloud(t, s.Cloud)
	s.Runs(t, daemon.Setup{Cloud: front.URL()})

	names := make([]string, size)
	var creating sync.WaitGroup
	creating.Go(func() {
		for n := range names {
			names[n] = s.Balanced(t, "raced")
		}
	})
	changes := churn(t, p, func() bool { return len(front.Requests(ofBalancerChanges)) > size*5/4 })
	creating.Wait()
	if t.Failed() {
		t.FailNow()
	}
	var want []string
	expect.Within(t, 3*time.Minute, func(ctx context.Context) error {
		var err error
		if want, err = backendsNow(ctx, s); err != nil {
			return err
		}
		return allHave(ctx, s, size, want)
	})
	// A call with an older set of nodes may still be under way. It must not replace the
	// last set.
	expect.Within(t, expect.Soon, func(context.Context) error {
		under := front.Requests(func(r proxy.Request) bool { return ofBalancerChanges(r) && r.Ended.IsZero() })
		return expect.Equal("changes under way", 0, len(under))
	})
	if err := allHave(t.Context(), s, size, want); err != nil {
		t.Errorf("an older set of nodes has won: %v", err)
	}
	for _, name := range names {
		s.AwaitService(t, name, lbservice.RetriesWithin, func(service *corev1.Service) error {
			return errors.Join(lbservice.Showing(lbservice.ConditionServing, metav1.ConditionTrue, "Ready")(service), lbservice.Showing(lbservice.ConditionProvisioning, metav1.ConditionFalse, "Provisioned")(service))
		})
	}
	calls := front.Requests(ofBalancerChanges)
	neverBeside(t, calls)
	t.Logf("%d Services, %d changes of nodes: %d changes of load balancers", size, changes, len(calls))
}

// churn lets Nodes join, deletes them, and excludes and includes them, one step after the
// other. It makes at least 40 steps, and then goes on until the function `enough` returns
// true. It returns the number of steps.
func churn(t *testing.T, p *nodepool.Pool, enough func() bool) int {
	t.Helper()
	const (
		interval = 300 * time.Millisecond
		least    = 40
	)
	excluded := map[string]bool{}
	for n := 0; ; n++ {
		switch m := p.Members[n%len(p.Members)]; {
		case n >= least && enough():
			return n
		case n%4 == 0:
			p.Newcomer(t, "raced")
		case n%4 == 1 && !m.Handled:
			p.ByHand(t, m)
		case !m.Handled:
			excluded[m.Name] = !excluded[m.Name]
			value := map[bool]string{true: `""`, false: "null"}[excluded[m.Name]]
			p.Patch(t, m.Name, `{"metadata":{"labels":{"`+corev1.LabelNodeExcludeBalancers+`":`+value+`}}}`)
		}
		bed.Pause(t.Context(), interval)
	}
}

// backendsNow returns the instance IDs of the Nodes that are not excluded from load
// balancers.
func backendsNow(ctx context.Context, s lbservice.Services) ([]string, error) {
	list, err := s.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, node := range list.Items {
		if _, excluded := node.Labels[corev1.LabelNodeExcludeBalancers]; !excluded {
			ids = append(ids, node.Spec.ProviderID[len("simulated://sim-1/"):])
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// allHave returns nil if there are this many load balancers and all have these
// backends.
func allHave(ctx context.Context, s lbservice.Services, size int, want []string) error {
	all, err := s.Cloud.LoadBalancers(ctx)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(all), func(l simulator.LoadBalancer) bool { return slices.Equal(l.Backends, want) })
	if len(all) != size || len(others) > 0 {
		return fmt.Errorf("%d load balancers, want %d; %d of them do not have the last set of nodes", len(all), size, len(others))
	}
	return nil
}

// neverBeside fails the test if two changes of one load balancer were under way at the
// same time. Creations do not count, because each makes another load balancer.
func neverBeside(t *testing.T, calls []proxy.Request) {
	t.Helper()
	last := map[string]proxy.Request{}
	for _, r := range calls {
		if creations(r) {
			continue
		}
		if before, ok := last[r.Path]; ok && !before.Ended.Before(r.Began) {
			t.Errorf("S3: %s %s from %v to %v, beside %s from %v to %v", r.Method, r.Path, r.Began, r.Ended, before.Method, before.Began, before.Ended)
		}
		last[r.Path] = r
	}
}
