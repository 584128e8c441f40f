package conformance

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
)

// troubleChecks are the checks of failures, and of changes that somebody else makes.
var troubleChecks = []Check{
	{
		ID: "loadbalancers/two-clusters", Level: Core, Needs: needs(needMachines, needViewer, needInventory),
		Title:  "Two clusters share nothing, even with Services of the same name",
		Source: "LoadBalancer: parameter 'clusterName' is the name of the cluster",
		Cost:   costTaken,
		run: balanced(func(b *balancing) {
			other := b.in(b.cluster + "-2")
			s, nodes, first := b.served(1)
			same := b.newService("a")
			second := other.ensured(same, nodes)
			if slices.ContainsFunc(ingress(first), func(address string) bool { return slices.Contains(ingress(second), address) }) {
				b.failf("%s = %s and %s = %s; want two load balancers", b.call("EnsureLoadBalancer", s, nodes), answered(first, nil), other.call("EnsureLoadBalancer", same, nodes), answered(second, nil))
			}
			other.deleted(same)
			b.only("after "+other.call("EnsureLoadBalancerDeleted", same, nil)+" = nil", nil)
			b.deleted(s)
			b.nothingLeft("after both were deleted")
			other.nothingLeft("after both were deleted")
		}),
	},
	{
		ID: "loadbalancers/not-mine", Level: Core, Needs: needs(needMachines, needForeigner), Source: sourceEnsure,
		Title: "A load balancer that was made by hand is not changed, whatever its name",
		Cost:  costTaken,
		// It accepts both an error and a new load balancer with another name.
		run: balanced(func(b *balancing) {
			s, nodes := b.newService("a"), b.nodes(1)
			unchanged := b.foreign(KindLoadBalancer, b.loadBalancer().GetLoadBalancerName(b.ctx, b.cluster, s))
			_, err := b.tried(s, nodes)
			unchanged(fmt.Sprintf("%s = %v", b.call("EnsureLoadBalancer", s, nodes), shown(err)))
			err = b.repeated(func() error { return b.update(b.ctx, s, nodes) })
			unchanged(fmt.Sprintf("%s = %v", b.call("UpdateLoadBalancer", s, nodes), shown(err)))
			err = b.repeated(func() error { return b.remove(b.ctx, s) })
			b.gone[s.UID] = err == nil
			unchanged(fmt.Sprintf("%s = %v", b.call("EnsureLoadBalancerDeleted", s, nil), shown(err)))
		}),
	},
	{
		ID: "loadbalancers/crash", Level: Core, Needs: needs(needMachines, needFaulter, needViewer, needInventory, needMeter), Source: sourceEnsure,
		Title: "If a call fails half-way, the next call completes its work",
		Cost:  costLeak,
		// It lets a write fail, and then makes the next call with a new provider, as a
		// restarted daemon does.
		run: balanced(func(b *balancing) {
			nodes := b.nodes(1)
			gone := func(s *corev1.Service, when string) {
				b.restart()
				b.deleted(s)
				b.nothingLeft(when + ", and EnsureLoadBalancerDeleted = nil")
			}
			b.failing(FaultFailWrite, b.creating(nodes), func(s *corev1.Service, when string) {
				b.restart()
				b.ensured(s, nodes)
				b.only(when+", and EnsureLoadBalancer = nil", nil)
				gone(s, when+", EnsureLoadBalancer = nil")
			})
			b.failing(FaultFailWrite, b.creating(nodes), gone)
			b.failing(FaultFailWrite, func(role string) (*corev1.Service, func() error) {
				s := b.newService(role)
				b.ensured(s, nodes)
				return s, func() error { return b.remove(b.ctx, s) }
			}, gone)
		}),
	},
	{
		ID: "loadbalancers/lost-reply", Level: Core, Needs: needs(needMachines, needFaulter, needViewer, needMeter), Source: sourceEnsure,
		Title: "If the reply to a creation is lost, the load balancer is found again",
		Cost:  costSecond,
		run: balanced(func(b *balancing) {
			nodes := b.nodes(1)
			b.failing(FaultLostReply, b.creating(nodes), func(s *corev1.Service, when string) {
				b.ensured(s, nodes)
				b.only(when+", and EnsureLoadBalancer = nil", nil)
				b.deleted(s)
			})
		}),
	},
	{
		ID: "loadbalancers/sixteen-services", Level: Core, Needs: needs(needMachines, needViewer, needInventory),
		Title:  "Calls for many Services at the same time do what each would do alone",
		Source: "provider.ConcurrentLoadBalancer: is safe for calls about different Services at the same time",
		Cost:   "Some Services get no load balancer, or share the load balancer of another Service.",
		run:    balanced((*balancing).sixteen),
	},
	{
		ID: "loadbalancers/cancel", Level: Core, Needs: needs(needMachines, needFaulter), Source: "context.Context of each method",
		Title: "A call returns with an error when its context ends",
		Cost:  "A cloud that hangs stops the daemon: nothing is done for any Service.",
		run: balanced(func(b *balancing) {
			s, nodes := b.newService("a"), b.nodes(1)
			b.keep(s)
			b.fault(Fault{Kind: FaultHang})
			for method, call := range map[string]func(context.Context) error{
				"GetLoadBalancer":           func(ctx context.Context) error { _, _, err := b.get(ctx, s); return err },
				"EnsureLoadBalancer":        func(ctx context.Context) error { _, err := b.ensure(ctx, s, nodes); return err },
				"UpdateLoadBalancer":        func(ctx context.Context) error { return b.update(ctx, s, nodes) },
				"EnsureLoadBalancerDeleted": func(ctx context.Context) error { return b.remove(ctx, s) },
			} {
				var err error
				b.inTime(b.call(method, s, nil), "while the cloud did not answer, although its context had ended", func(ctx context.Context) {
					ctx, cancel := context.WithTimeout(ctx, soon)
					defer cancel()
					err = call(ctx)
				})
				if err == nil {
					b.failf("%s = nil, although the cloud did not answer and its context ended; want an error", b.call(method, s, nil))
				}
			}
		}),
	},
	drifts("listener", DriftListener),
	drifts("backend", DriftBackend),
	drifts("all", DriftLoadBalancer),
}

// drifts returns the check of a part of a load balancer that somebody removes.
func drifts(name string, what Drift) Check {
	return Check{
		ID: "loadbalancers/drift-" + name, Level: Extended, Needs: needs(needMachines, needDrifter, needViewer), Source: sourceEnsure,
		Title: map[Drift]string{DriftListener: "A listener", DriftBackend: "A backend", DriftLoadBalancer: "A load balancer"}[what] + " that somebody removed is restored",
		Cost:  "The Service cannot be reached until somebody changes it.",
		run: balanced(func(b *balancing) {
			s, nodes := b.newService("a"), b.nodes(2)
			s.Spec.Ports = append(s.Spec.Ports, port("https", corev1.ProtocolTCP, 443, 30443))
			b.ensured(s, nodes)
			b.only("after EnsureLoadBalancer = nil", nil)
			if all := b.all(); len(all) != 1 { // The method Drift needs a cluster with only one load balancer.
				b.notRunf("needs a cluster without other load balancers, and %s has %s", b.cluster, balancersText(all))
			}
			b.must("remove "+string(what), as[Drifter](b.trial).Drift(b.ctx, b.cluster, what))
			b.ensured(s, nodes)
			when := fmt.Sprintf("after somebody has removed a %s and %s = nil", what, b.call("EnsureLoadBalancer", s, nodes))
			b.only(when, b.hasPorts(s))
			b.backends(when, nodes, sameSet)
		}),
	}
}

// creating returns a function that makes a Service, and a call that creates its load
// balancer.
func (b *balancing) creating(nodes []*corev1.Node) func(role string) (*corev1.Service, func() error) {
	return func(role string) (*corev1.Service, func() error) {
		s := b.newService(role)
		b.keep(s)
		return s, func() error { _, err := b.ensure(b.ctx, s, nodes); return err }
	}
}

// failing makes the calls that f returns, one after the other. A fault hits the first write
// of the first call, the second write of the second call, and so on. After each call,
// failing calls its last argument. It ends after the first call that makes too few writes
// for a fault.
func (b *balancing) failing(kind FaultKind, f func(role string) (*corev1.Service, func() error), then func(s *corev1.Service, when string)) {
	const most = 20 // calls
	for k := range most {
		s, call := f(fmt.Sprintf("s%d", k))
		restore := b.fault(Fault{Kind: kind, Skip: k, Count: 1})
		var err error
		n := b.counted(func() { err = b.repeated(call) }).Writes
		restore()
		then(s, fmt.Sprintf("after the fault %s for write %d of a call that returned %v", kind, k+1, shown(err)))
		if n <= k { // The fault hit nothing.
			return
		}
	}
}

// sixteen makes calls for sixteen Services at the same time.
func (b *balancing) sixteen() {
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
