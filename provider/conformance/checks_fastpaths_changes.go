package conformance

import (
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
)

// fastChangeChecks are the checks of the optional interfaces that change the cloud or the
// configuration, and of the limits of all of them.
var fastChangeChecks = []Check{
	{
		ID: "fastpaths/limits", Level: Core, Source: "package provider: limits are positive and constant",
		Title: "Limits of calls are positive and constant",
		Cost:  "The daemon makes calls that the cloud refuses.",
		run: func(t *trial) {
			limits := t.limits()
			if len(limits) == 0 {
				t.unsupportedf("the provider offers no interface with a limit")
			}
			for name, limit := range limits {
				if first, second := limit(), limit(); first < 1 || first != second {
					t.failf("%s() = %d, and %d when it is called again; want the same positive number", name, first, second)
				}
			}
		},
	},
	{
		ID: "fastpaths/routes", Level: Core, Needs: needs(needMachines),
		Title:  "Many changes of routes have the results that each would have alone",
		Source: "provider.RouteApplier: a result for each change, as CreateRoute and DeleteRoute return it",
		Cost:   "Pods of a node cannot be reached from other nodes.",
		run: routed(func(r *routing) {
			applier := offered[provider.RouteApplier](r.trial, r.routes())
			m := r.member()
			wanted, gone, nowhere := route(m, destination1), route(m, destination2), route(m, destination3)
			nowhere.TargetNode = "no-such-node"
			is := r.listed(gone)
			r.keep(wanted)
			r.keep(nowhere)
			changes := []provider.RouteChange{{Create: wanted, NameHint: hint(wanted)}, {Create: nowhere, NameHint: hint(nowhere)}, {Delete: is}}
			call := fmt.Sprintf("ApplyRoutes(cluster %q, create %s, create %s, delete %s)", r.cluster, showRoute(wanted), showRoute(nowhere), showRoute(is))
			alone := r.create(nowhere)
			for range 2 { // Making the same changes again has the same results.
				r.asAlone(call, alone, func(result func(int, error)) error {
					results, err := applier.ApplyRoutes(r.ctx, r.cluster, changes)
					for _, one := range results {
						result(one.Change, one.Err)
					}
					return err
				})
				r.only("after "+call, wanted)
				r.none("after "+call, gone)
			}
		}),
	},
	{
		ID: "fastpaths/backends", Level: Core, Needs: needs(needMachines, needViewer),
		Title:  "Many load balancers get the backends that each would get alone",
		Source: "provider.BackendSetter: does for each of the Services what UpdateLoadBalancer would do",
		Cost:   costNoTraffic,
		run: balanced(func(b *balancing) {
			setter := offered[provider.BackendSetter](b.trial, b.loadBalancer())
			nodes := b.nodes(2)
			services := []*corev1.Service{b.newService("a"), b.newService("none"), b.newService("c")}
			b.ensured(services[0], nodes[:1])
			b.ensured(services[2], nodes[:1])
			b.keep(services[1])
			call := fmt.Sprintf("SetBackends(cluster %q, [%s, %s without a load balancer, %s], %s)", b.cluster, services[0].Name, services[1].Name, services[2].Name, showNodes(nodes))
			alone := b.update(b.ctx, services[1], nodes)
			b.asAlone(call, alone, func(result func(int, error)) error {
				results, err := setter.SetBackends(b.ctx, b.cluster, services, nodes)
				for _, one := range results {
					result(one.Service, one.Err)
				}
				return err
			})
			b.eventually(func() error {
				made := b.made()
				for _, l := range made {
					if !sameSet(l.Backends, providerIDs(nodes)) {
						return fmt.Errorf("load balancer %s has the backends %v after %s = nil; want %v", l.Name, l.Backends, call, providerIDs(nodes))
					}
				}
				if len(made) != 2 {
					return fmt.Errorf("the cloud has %s after %s; want two", balancersText(made), call)
				}
				return nil
			})
		}),
	},
	{
		ID: "fastpaths/reload-bad", Level: Core, Needs: needs(needMachines), Source: "provider.Reloader: after an error the provider keeps its former configuration",
		Title: "Configuration that is refused changes nothing",
		Cost:  "A mistake in a Secret stops a daemon that works.",
		run: func(t *trial) {
			reloader := offered[provider.Reloader](t, t.provider)
			node := joined(t.machine("a"))
			const bad = "{[ this is no configuration" // no provider accepts it
			if err := reloader.Reload(t.ctx, strings.NewReader(bad)); err == nil {
				t.failf("Reload(%q) = nil; want an error", bad)
			}
			if _, err := t.described(node); err != nil {
				t.failf("after Reload had refused %q: %v", bad, err)
			}
		},
	},
	{
		ID: "fastpaths/reload", Level: Core, Needs: needs(needMachines), Source: "provider.Reloader: may be called at any time, and while all other methods run",
		Title: "Configuration can be loaded while calls are under way",
		Cost:  "After a change of the token, calls fail or the daemon crashes.",
		run: func(t *trial) {
			reloader := offered[provider.Reloader](t, t.provider)
			node := joined(t.machine("a"))
			ask := func() error { _, err := t.described(node.DeepCopy()); return err }
			failed := t.together(3, 3, "Reload, with calls under way", func(i int) error {
				var errs []error
				for range 20 {
					if i > 0 {
						errs = append(errs, ask())
					} else if err := reloader.Reload(t.ctx, t.configuration()); err != nil {
						errs = append(errs, fmt.Errorf("the method Reload: %w", err))
					}
				}
				return errors.Join(append(errs, ask())...)
			})
			if err := errors.Join(failed...); err != nil {
				t.failf("%v, while the same configuration was loaded anew; want nil", err)
			}
		},
	},
}

// limits returns the methods of the provider that return a limit, by name.
func (t *trial) limits() map[string]func() int {
	v2, _ := t.provider.InstancesV2()
	lb, _ := t.provider.LoadBalancer()
	routes, _ := t.provider.Routes()
	limits := map[string]func() int{}
	if b, ok := v2.(provider.InstanceMetadataBatcher); ok {
		limits["MaxInstanceMetadataBatch"] = b.MaxInstanceMetadataBatch
	}
	if s, ok := lb.(provider.BackendSetter); ok {
		limits["MaxBackendServices"] = s.MaxBackendServices
	}
	if l, ok := lb.(provider.BackendLimit); ok && l.MaxBackends() != 0 {
		limits["MaxBackends"] = l.MaxBackends
	}
	if c, ok := lb.(provider.ConcurrentLoadBalancer); ok {
		limits["MaxConcurrentServices"] = c.MaxConcurrentServices
	}
	if a, ok := routes.(provider.RouteApplier); ok {
		limits["MaxRouteChanges"] = a.MaxRouteChanges
	}
	return limits
}

// asAlone makes a call that does three things, of which the second may be impossible. The
// function f passes the results on. It requires one result for each: nil for the first and
// the last, and for the second an error if and only if that fails alone, too.
func (t *trial) asAlone(call string, alone error, f func(result func(n int, err error)) error) {
	var failed map[int][]error
	err := t.repeated(func() error {
		failed = map[int][]error{}
		return f(func(n int, err error) { failed[n] = append(failed[n], err) })
	})
	if err != nil {
		t.failf("%s = %v; want three results", call, err)
	}
	if len(failed) != 3 || len(failed[0]) != 1 || len(failed[1]) != 1 || len(failed[2]) != 1 {
		t.failf("%s has the results %v, by number; want one for each of three", call, failed)
	}
	if failed[0][0] != nil || failed[2][0] != nil || (failed[1][0] == nil) != (alone == nil) {
		t.failf("%s has the results %v; want nil for the first and the last, and for the other as alone: %v", call, failed, shown(alone))
	}
}

// configuration returns the reader for Reload. It is nil if the target has no
// Configuration.
func (t *trial) configuration() io.Reader {
	content := t.target.Configuration
	if content == nil {
		return nil
	}
	return strings.NewReader(content(t.world))
}
