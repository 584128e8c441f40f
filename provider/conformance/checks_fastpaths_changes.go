package conformance

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

func fastRoutes(r *routing) {
	applier := offered[provider.RouteApplier](r.trial, r.routes(), "RouteApplier")
	m := r.machine("a")
	keep, gone, nowhere := route(m, destination1), route(m, destination2), route(m, destination3)
	nowhere.TargetNode = noSuchNode
	r.created(gone)
	is := r.only("after CreateRoute = nil", gone)
	for _, wanted := range []*cloudprovider.Route{keep, nowhere} {
		r.keep(wanted)
	}
	changes := []provider.RouteChange{{Create: keep, NameHint: hint(keep)}, {Create: nowhere, NameHint: hint(nowhere)}, {Delete: is}}
	call := fmt.Sprintf("ApplyRoutes(cluster %q, create %s, create %s, delete %s)", r.cluster, showRoute(keep), showRoute(nowhere), showRoute(is))
	given := *nowhere
	alone := r.routes().CreateRoute(r.ctx, r.cluster, hint(nowhere), &given)
	for range 2 { // Making the same changes again has the same results.
		failed := r.applied(applier, call, changes)
		if failed[0] != nil || failed[2] != nil || (failed[1] == nil) != (alone == nil) {
			r.failf("%s = the errors %v; want nil for the first and the last, and for the other what CreateRoute returns: %v", call, failed, shown(alone))
		}
		r.only("after "+call, keep)
		r.none("after "+call, gone)
	}
}

// applied calls ApplyRoutes and returns the error of each change.
func (r *routing) applied(applier provider.RouteApplier, call string, changes []provider.RouteChange) []error {
	var results []provider.RouteResult
	err := r.repeated(func() (err error) {
		results, err = applier.ApplyRoutes(r.ctx, r.cluster, changes)
		return err
	})
	if err != nil {
		r.failf("%s = %v; want a result for each change", call, err)
	}
	failed, times := make([]error, len(changes)), make([]int, len(changes))
	for _, result := range results {
		if result.Change < 0 || result.Change >= len(changes) {
			r.failf("%s has a result for change %d; want one for each change", call, result.Change)
		}
		failed[result.Change] = result.Err
		times[result.Change]++
	}
	if !slices.Equal(times, []int{1, 1, 1}) {
		r.failf("%s has %v results for its changes; want one for each", call, times)
	}
	return failed
}

func fastBackends(b *balancing) {
	setter := offered[provider.BackendSetter](b.trial, b.loadBalancer(), "BackendSetter")
	nodes := b.nodes(2)
	services := []*corev1.Service{b.newService("a"), b.newService("none"), b.newService("c")}
	b.ensured(services[0], nodes[:1])
	b.ensured(services[2], nodes[:1])
	b.keep(services[1])
	call := fmt.Sprintf("SetBackends(cluster %q, [%s, %s without a load balancer, %s], %s)", b.cluster, services[0].Name, services[1].Name, services[2].Name, showNodes(nodes))
	var results []provider.BackendResult
	err := b.repeated(func() (err error) {
		results, err = setter.SetBackends(b.ctx, b.cluster, services, nodes)
		return err
	})
	if err != nil {
		b.failf("%s = %v; want a result for each Service", call, err)
	}
	failed := map[int]error{}
	for _, r := range results {
		failed[r.Service] = r.Err
	}
	if len(results) != len(services) || len(failed) != len(services) {
		b.failf("%s = %+v; want one result for each Service", call, results)
	}
	alone := b.update(b.ctx, services[1], nodes)
	if failed[0] != nil || failed[2] != nil || (failed[1] == nil) != (alone == nil) {
		b.failf("%s = %+v; want nil for the first and the last, and for the other what UpdateLoadBalancer returns: %v", call, results, shown(alone))
	}
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
}

// fastReloadBad calls Reload with content that no provider accepts.
func fastReloadBad(t *trial) {
	reloader := offered[provider.Reloader](t, t.provider, "Reloader")
	node := joined(t.machine("a"))
	const bad = "{[ this is no configuration"
	if err := reloader.Reload(t.ctx, strings.NewReader(bad)); err == nil {
		t.failf("Reload(%q) = nil; want an error", bad)
	}
	if _, err := t.instances().InstanceMetadata(t.ctx, node); err != nil {
		t.failf("InstanceMetadata(%s) = %v after Reload had refused %q; want metadata", show(node), err, bad)
	}
}

// fastReload calls Reload many times with the same content, while other calls run.
func fastReload(t *trial) {
	reloader := offered[provider.Reloader](t, t.provider, "Reloader")
	node := joined(t.machine("a"))
	ask := func() error {
		_, err := t.instances().InstanceMetadata(t.ctx, node.DeepCopy())
		return wrapped(err, "InstanceMetadata("+show(node)+")")
	}
	reload := func() error { return wrapped(reloader.Reload(t.ctx, t.configuration()), "Reload") }
	failed := t.together(3, 3, "Reload, with calls under way", func(i int) error {
		var errs []error
		for range 20 {
			if i == 0 {
				errs = append(errs, reload())
			} else {
				errs = append(errs, ask())
			}
		}
		return errors.Join(append(errs, ask())...)
	})
	if err := errors.Join(failed...); err != nil {
		t.failf("%v, while the same configuration was loaded anew; want nil", err)
	}
}

// configuration returns the reader for Reload. It is nil if the target has no
// Configuration.
func (t *trial) configuration() io.Reader {
	content := t.suite.target.Configuration
	if content == nil {
		return nil
	}
	return strings.NewReader(content(t.world))
}

func wrapped(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s = %w", what, err)
}
