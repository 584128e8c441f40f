package conformance

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
)

// troubleChecks returns the checks of failures, and of changes that somebody else makes.
func troubleChecks() []Check {
	const taken = "A load balancer that somebody else needs is changed or deleted."
	const source = sourceEnsure
	all := []Check{
		{
			ID: "loadbalancers/two-clusters", Level: Core, Needs: []Need{NeedMachines, NeedViewer, NeedInventory}, run: balanced(lbTwoClusters),
			Source: "LoadBalancer: parameter 'clusterName' is the name of the cluster", Title: "Two clusters share nothing, even with Services of the same name", Cost: taken,
		},
		{
			ID: "loadbalancers/not-mine", Level: Core, Needs: []Need{NeedMachines, NeedForeigner}, Source: source, run: balanced(lbNotMine),
			Title: "A load balancer that was made by hand is not changed, whatever its name", Cost: taken,
		},
		{
			ID: "loadbalancers/crash", Level: Core, Needs: []Need{NeedMachines, NeedFaulter, NeedViewer, NeedInventory, NeedMeter}, Source: source, run: balanced(lbCrash),
			Title: "If a call fails half-way, the next call completes its work", Cost: costLeak,
		},
		{
			ID: "loadbalancers/lost-reply", Level: Core, Needs: []Need{NeedMachines, NeedFaulter, NeedViewer, NeedMeter}, Source: source, run: balanced(lbLostReply),
			Title: "If the reply to a creation is lost, the load balancer is found again", Cost: costSecond,
		},
		{
			ID: "loadbalancers/sixteen-services", Level: Core, Needs: []Need{NeedMachines, NeedViewer, NeedInventory}, run: balanced(lbSixteen),
			Source: "provider.ConcurrentLoadBalancer: is safe for calls about different Services at the same time", Title: "Calls for many Services at the same time do what each would do alone", Cost: "Some Services get no load balancer, or share the load balancer of another Service.",
		},
		{
			ID: "loadbalancers/cancel", Level: Core, Needs: []Need{NeedMachines, NeedFaulter}, run: balanced(lbCancel),
			Source: "context.Context of each method", Title: "A call returns with an error when its context ends", Cost: "A cloud that hangs stops the daemon: nothing is done for any Service.",
		},
	}
	for _, drift := range []struct {
		what Drift
		text string
	}{{DriftListener, "A listener"}, {DriftBackend, "A backend"}, {DriftLoadBalancer, "A load balancer"}} {
		all = append(all, Check{
			ID: "loadbalancers/drift-" + driftName(drift.what), Level: Extended, Needs: []Need{NeedMachines, NeedDrifter, NeedViewer}, Source: source,
			Title: drift.text + " that somebody removed is restored", Cost: "The Service cannot be reached until somebody changes it.",
			run: balanced(func(b *balancing) { lbDrift(b, drift.what) }),
		})
	}
	return all
}

func driftName(d Drift) string {
	if d == DriftLoadBalancer {
		return "all"
	}
	return string(d)
}

func lbTwoClusters(b *balancing) {
	other := b.in(b.cluster + "-2")
	s, nodes := b.newService("a"), b.nodes(1)
	same := s.DeepCopy()
	same.UID = b.newService("b").UID
	first := b.ensured(s, nodes)
	second := other.ensured(same, nodes)
	for _, address := range ingress(first) {
		if sameSet([]string{address}, ingress(second)) {
			b.failf("%s and %s have the address %s; want two load balancers", b.call("EnsureLoadBalancer", s, nodes), other.call("EnsureLoadBalancer", same, nodes), address)
		}
	}
	other.deleted(same)
	b.only("after "+other.call("EnsureLoadBalancerDeleted", same, nil)+" = nil", nil)
	b.deleted(s)
	b.nothingLeft("after both were deleted")
	other.nothingLeft("after both were deleted")
}

// lbNotMine accepts both an error and a new load balancer with another name.
func lbNotMine(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(1)
	foreigner := b.world.(Foreigner) //nolint:forcetypeassert // the check says that it needs one
	foreign := b.foreign(foreigner, KindLoadBalancer, b.loadBalancer().GetLoadBalancerName(b.ctx, b.cluster, s))
	unchanged := func(method string, err error) {
		exists, failure := foreigner.ForeignExists(b.ctx, foreign)
		b.must("look for the load balancer that was made by hand", failure)
		if !exists {
			b.failf("%s = %v has changed or deleted load balancer %s (%s), which was made by hand and has the same name; want an error or another name", b.call(method, s, nodes), shown(err), foreign.ID, foreign.Name)
		}
	}
	_, err := b.tried(s, nodes)
	unchanged("EnsureLoadBalancer", err)
	unchanged("UpdateLoadBalancer", b.repeated(func() error { return b.update(b.ctx, s, nodes) }))
	err = b.repeated(func() error { return b.remove(b.ctx, s) })
	b.gone[s.UID] = err == nil
	unchanged("EnsureLoadBalancerDeleted", err)
}

func lbDrift(b *balancing, what Drift) {
	s, nodes := b.newService("a"), b.nodes(2)
	s.Spec.Ports = append(s.Spec.Ports, port("https", corev1.ProtocolTCP, 443, 30443))
	b.ensured(s, nodes)
	b.only("after EnsureLoadBalancer = nil", nil)
	all, err := b.world.(Viewer).LoadBalancers(b.ctx, b.cluster) //nolint:forcetypeassert // the check says that it needs one
	b.must("load balancers of cluster "+b.cluster, err)
	if len(all) != 1 { // The method Drift needs a cluster with only one load balancer.
		b.notRunf("needs a cluster without other load balancers, and %s has %s", b.cluster, balancersText(all))
	}
	b.must("remove "+string(what), b.world.(Drifter).Drift(b.ctx, b.cluster, what)) //nolint:forcetypeassert // the check says that it needs one
	b.ensured(s, nodes)
	when := fmt.Sprintf("after somebody has removed a %s and %s = nil", what, b.call("EnsureLoadBalancer", s, nodes))
	b.only(when, func(l LoadBalancer) error {
		if !asPorts(s, l, nil) {
			return fmt.Errorf("has the listeners %v", l.Listeners)
		}
		return nil
	})
	b.backendsAre(when, nodes)
}

// maxWrites is the maximum number of calls that b.failing makes.
const maxWrites = 20

// failing makes the calls that f returns, one after the other. A fault hits the first write
// of the first call, the second write of the second call, and so on. After each call,
// failing calls its last argument. It ends after the first call that makes too few writes
// for a fault.
func (b *balancing) failing(kind FaultKind, f func(k int) (*corev1.Service, func() error), then func(s *corev1.Service, when string)) {
	for k := range maxWrites {
		s, call := f(k)
		restore := b.fault(Fault{Kind: kind, Skip: k, Count: 1})
		var err error
		n := b.writes(func() { err = b.repeated(call) })
		restore()
		then(s, fmt.Sprintf("after the fault %s for write %d of a call that returned %v", kind, k+1, shown(err)))
		if n <= k { // The fault hit nothing.
			return
		}
	}
}

// lbCrash lets a write fail, and then makes the next call with a new provider, as a
// restarted daemon does.
func lbCrash(b *balancing) {
	nodes := b.nodes(1)
	creating := func(k int) (*corev1.Service, func() error) {
		s := b.newService(fmt.Sprintf("c%d", k))
		b.keep(s)
		return s, func() error { _, err := b.ensure(b.ctx, s, nodes); return err }
	}
	gone := func(s *corev1.Service, when string) {
		b.deleted(s)
		b.nothingLeft(when + ", and EnsureLoadBalancerDeleted = nil")
	}
	b.failing(FaultFailWrite, creating, func(s *corev1.Service, when string) {
		b.restart()
		b.ensured(s, nodes)
		b.only(when+", and EnsureLoadBalancer = nil", nil)
		gone(s, when+", EnsureLoadBalancer = nil")
	})
	b.failing(FaultFailWrite, creating, func(s *corev1.Service, when string) {
		b.restart()
		gone(s, when)
	})
	b.failing(FaultFailWrite, func(k int) (*corev1.Service, func() error) {
		s := b.newService(fmt.Sprintf("d%d", k))
		b.ensured(s, nodes)
		return s, func() error { return b.remove(b.ctx, s) }
	}, func(s *corev1.Service, when string) {
		b.restart()
		gone(s, when)
	})
}

func lbLostReply(b *balancing) {
	nodes := b.nodes(1)
	b.failing(FaultLostReply, func(k int) (*corev1.Service, func() error) {
		s := b.newService(fmt.Sprintf("l%d", k))
		b.keep(s)
		return s, func() error { _, err := b.ensure(b.ctx, s, nodes); return err }
	}, func(s *corev1.Service, when string) {
		b.ensured(s, nodes)
		b.only(when+", and EnsureLoadBalancer = nil", nil)
		b.deleted(s)
	})
}

func lbSixteen(b *balancing) {
	concurrent, ok := b.loadBalancer().(provider.ConcurrentLoadBalancer)
	if !ok || concurrent.MaxConcurrentServices() < 2 {
		b.unsupportedf("the load balancers are no provider.ConcurrentLoadBalancer, so calls are made one after the other")
	}
	nodes := b.nodes(2)
	services := make([]*corev1.Service, 16)
	for n := range services {
		services[n] = b.newService(fmt.Sprintf("s%d", n))
		b.keep(services[n])
	}
	together := func(method string, call func(*corev1.Service) error) {
		failed := b.together(len(services), concurrent.MaxConcurrentServices(), method, func(n int) error { return call(services[n]) })
		for n, err := range failed {
			if err != nil {
				b.failf("%s = %v, with calls for other Services at the same time; want nil", b.call(method, services[n], nil), err)
			}
		}
	}
	together("EnsureLoadBalancer", func(s *corev1.Service) error { _, err := b.ensure(b.ctx, s, nodes); return err })
	b.eventually(func() error {
		if made := b.made(); len(made) != len(services) {
			return fmt.Errorf("the cloud has %s after EnsureLoadBalancer = nil for %d Services at the same time; want as many", balancersText(made), len(services))
		}
		return nil
	})
	together("EnsureLoadBalancerDeleted", func(s *corev1.Service) error { return b.remove(b.ctx, s) })
	for _, s := range services {
		b.gone[s.UID] = true
	}
	b.nothingLeft(fmt.Sprintf("after EnsureLoadBalancerDeleted = nil for %d Services at the same time", len(services)))
}

// together calls f for each number from 0 to n-1, with at most the given number of
// calls at a time. It repeats a call while the error asks for that. It returns the
// errors.
func (t *trial) together(n, most int, what string, f func(int) error) []error {
	failed := make([]error, n)
	limit := make(chan struct{}, most)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			defer t.recovered(what)
			failed[i] = t.repeated(func() error { return f(i) })
		})
	}
	all.Wait()
	return failed
}

// lbCancel makes calls that the cloud does not answer. The context of each call
// soon ends.
func lbCancel(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(1)
	b.keep(s)
	lb := b.loadBalancer()
	restore := b.fault(Fault{Kind: FaultHang})
	defer restore()
	for _, each := range []struct {
		method string
		call   func(context.Context) error
	}{
		{"GetLoadBalancer", func(ctx context.Context) error { _, _, err := lb.GetLoadBalancer(ctx, b.cluster, s); return err }},
		{"EnsureLoadBalancer", func(ctx context.Context) error { _, err := b.ensure(ctx, s, nodes); return err }},
		{"UpdateLoadBalancer", func(ctx context.Context) error { return b.update(ctx, s, nodes) }},
		{"EnsureLoadBalancerDeleted", func(ctx context.Context) error { return b.remove(ctx, s) }},
	} {
		var err error
		call := b.call(each.method, s, nil)
		b.inTime(call, "while the cloud did not answer, although its context had ended", func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, brief)
			defer cancel()
			err = each.call(ctx)
		})
		if err == nil {
			b.failf("%s = nil, although the cloud did not answer and its context ended; want an error", call)
		}
	}
}
