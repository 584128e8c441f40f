package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// fastPathChecks returns the checks of the optional interfaces of package provider.
// If a provider does not offer an interface, the checks of that interface end as
// Unsupported.
func fastPathChecks() []Check {
	const (
		wrongNode = "A Node gets the labels and addresses of another Node, or its instance counts as gone although it exists."
		crash     = "After a change of the token, calls fail or the daemon crashes."
	)
	machines, faults := []Need{NeedMachines}, []Need{NeedMachines, NeedFaulter}
	all := []Check{
		{
			ID: "fastpaths/limits", Source: "package provider: limits are positive and constant", Cost: "The daemon makes calls that the cloud refuses.",
			Title: "Limits of calls are positive and constant", run: fastLimits,
		},
		{
			ID: "fastpaths/batch", Needs: machines, Source: "provider.InstanceMetadataBatcher: one answer for each node, in the order of nodes", Cost: wrongNode,
			Title: "A batch has the same answer for each node as InstanceMetadata", run: fastBatch,
		},
		{
			ID: "fastpaths/batch-bad-id", Needs: machines, Source: "provider.InstanceMetadataBatcher: an error of one node is part of its answer", Cost: "One Node keeps all others from being initialised.",
			Title: "A node without an instance does not affect the other answers of a batch", run: fastBatchBadID,
		},
		{
			ID: "fastpaths/batch-fault", Needs: faults, Source: "provider.InstanceMetadataBatcher: an error of the whole call is returned with a nil slice", Cost: "Nodes are deleted because the cloud did not answer.",
			Title: "If the cloud does not answer, a batch calls no instance absent", run: fastBatchFault,
		},
		{
			ID: "fastpaths/list", Needs: machines, Source: "provider.InstanceLister: each instance means what InstanceMetadata would have returned", Cost: wrongNode,
			Title: "The pages of a list describe each instance as InstanceMetadata does", run: fastList,
		},
		{
			ID: "fastpaths/list-fault", Needs: faults, Source: "provider.InstanceLister: an error is returned with a zero page", Cost: wrongNode,
			Title: "If the cloud does not answer, a list returns an error and no page", run: fastListFault,
		},
		{
			ID: "fastpaths/watch", Needs: machines, Source: "provider.InstanceChanges: a call with Resume misses no change", Cost: "A machine that is gone keeps its Node for minutes.",
			Title: "A watch names a machine that was terminated after its token", run: fastWatch,
		},
		{
			ID: "fastpaths/watch-cancel", Needs: machines, Source: "provider.InstanceWatcher: the context of WatchInstances", Cost: "The daemon does not stop when it should.",
			Title: "A watch without changes returns when its context ends", run: fastWatchCancel,
		},
		{
			ID: "fastpaths/routes", Needs: machines, Source: "provider.RouteApplier: a result for each change, as CreateRoute and DeleteRoute return it", Cost: "Pods of a node cannot be reached from other nodes.",
			Title: "Many changes of routes have the results that each would have alone", run: routed(fastRoutes),
		},
		{
			ID: "fastpaths/backends", Needs: []Need{NeedMachines, NeedViewer}, Source: "provider.BackendSetter: does for each of the Services what UpdateLoadBalancer would do", Cost: costNoTraffic,
			Title: "Many load balancers get the backends that each would get alone", run: balanced(fastBackends),
		},
		{
			ID: "fastpaths/reload-bad", Needs: machines, Source: "provider.Reloader: after an error the provider keeps its former configuration", Cost: "A mistake in a Secret stops a daemon that works.",
			Title: "Configuration that is refused changes nothing", run: fastReloadBad,
		},
		{
			ID: "fastpaths/reload", Needs: machines, Source: "provider.Reloader: may be called at any time, and while all other methods run", Cost: crash,
			Title: "Configuration can be loaded while calls are under way", run: fastReload,
		},
	}
	for n := range all {
		all[n].Level, all[n].Since, all[n].Writes = Core, "0.2", len(all[n].Needs) > 0
	}
	return all
}

// offered returns a part of the provider as the optional interface T. It ends the check if
// the part does not implement T.
func offered[T any](t *trial, part any, name string) T {
	found, ok := part.(T)
	if !ok {
		t.unsupportedf("the provider does not offer provider.%s", name)
	}
	return found
}

func fastLimits(t *trial) {
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
	if c, ok := lb.(provider.ConcurrentLoadBalancer); ok {
		limits["MaxConcurrentServices"] = c.MaxConcurrentServices
	}
	if a, ok := routes.(provider.RouteApplier); ok {
		limits["MaxRouteChanges"] = a.MaxRouteChanges
	}
	if len(limits) == 0 {
		t.unsupportedf("the provider offers no interface with a limit")
	}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if first, second := limits[name](), limits[name](); first < 1 || first != second {
			t.failf("%s() = %d, and %d when it is called again; want the same positive number", name, first, second)
		}
	}
}

func fastBatch(t *trial) {
	t.offersBatch()
	nodes := []*corev1.Node{joined(t.machine("a")), named(t.machine("b")), joined(t.machine("c"))}
	slices.Reverse(nodes)
	t.sameAsSingle(nodes)
}

func fastBatchBadID(t *trial) {
	t.offersBatch()
	m, gone := t.machine("a"), t.machine("b")
	own, _, _ := strings.Cut(m.ProviderID, "://")
	t.terminate(gone)
	t.sameAsSingle([]*corev1.Node{identified("foreign", "elsewhere://machine-1"), joined(m), joined(gone)})
	t.sameAsSingle([]*corev1.Node{named(gone), identified("malformed", own+"://"), joined(m)})
}

// offersBatch returns the provider's InstanceMetadataBatcher, or ends the check. A check
// calls offersBatch before it asks the world for machines.
func (t *trial) offersBatch() provider.InstanceMetadataBatcher {
	return offered[provider.InstanceMetadataBatcher](t, t.instances(), "InstanceMetadataBatcher")
}

// batcher does the same as offersBatch. It also ends the check if these nodes are too
// many for one batch.
func (t *trial) batcher(nodes []*corev1.Node) provider.InstanceMetadataBatcher {
	batcher := t.offersBatch()
	if most := batcher.MaxInstanceMetadataBatch(); most < len(nodes) {
		t.notRunf("needs a batch of %d nodes, and MaxInstanceMetadataBatch() = %d", len(nodes), most)
	}
	return batcher
}

// sameAsSingle requires that a batch gives, for each node, the answer that
// InstanceMetadata gives.
func (t *trial) sameAsSingle(nodes []*corev1.Node) {
	call := fmt.Sprintf("InstanceMetadataBatch(%s)", showNodes(nodes))
	answers, err := t.batcher(nodes).InstanceMetadataBatch(t.ctx, copies(nodes))
	if err != nil || len(answers) != len(nodes) {
		t.failf("%s = %d answers, %v; want %d answers, nil", call, len(answers), shown(err), len(nodes))
	}
	for n, node := range nodes {
		alone, err := t.instances().InstanceMetadata(t.ctx, node.DeepCopy())
		got := answers[n]
		absent := errors.Is(got.Err, cloudprovider.InstanceNotFound) == errors.Is(err, cloudprovider.InstanceNotFound)
		if (got.Err == nil) != (err == nil) || !absent || !reflect.DeepEqual(got.Metadata, alone) {
			t.failf("%s has %s, %v for %s, and InstanceMetadata = %s, %v; want the same", call, metadataText(got.Metadata), shown(got.Err), show(node), metadataText(alone), shown(err))
		}
	}
}

func metadataText(m *cloudprovider.InstanceMetadata) string {
	if m == nil {
		return "nil"
	}
	return fmt.Sprintf("%+v", *m)
}

func fastBatchFault(t *trial) {
	t.offersBatch()
	nodes := []*corev1.Node{joined(t.machine("a")), named(t.machine("b"))}
	batcher := t.batcher(nodes)
	for _, kind := range []FaultKind{FaultUnavailable, FaultForbidden, FaultReset} {
		restore := t.fault(Fault{Kind: kind})
		answers, err := batcher.InstanceMetadataBatch(t.ctx, copies(nodes))
		restore()
		if err != nil {
			continue
		}
		for n, got := range answers {
			if got.Err == nil || errors.Is(got.Err, cloudprovider.InstanceNotFound) {
				t.failf("InstanceMetadataBatch(%s) has %s, %v for %s with the fault %s; want another error", showNodes(nodes), metadataText(got.Metadata), shown(got.Err), show(nodes[n]), kind)
			}
		}
	}
}

func fastList(t *trial) {
	machines := make([]Machine, 4)
	for n := range machines {
		machines[n] = t.machine(fmt.Sprintf("m%d", n))
	}
	gone := t.machine("gone")
	t.terminate(gone)
	listed := t.listAll()
	for _, m := range machines {
		alone := t.metadata(joined(m))
		if is, ok := listed[m.ProviderID]; !ok || !reflect.DeepEqual(is, *alone) {
			t.failf("the pages of ListInstances have %+v for machine %s (is there: %v), and InstanceMetadata = %+v; want the same", is, m.ProviderID, ok, *alone)
		}
	}
	if is, ok := listed[gone.ProviderID]; ok {
		t.failf("the pages of ListInstances have %+v, whose machine was terminated; want it left out", is)
	}
}

// maxPages is the largest number of pages that are read. No account has so many.
const maxPages = 10000

// listAll reads all pages of the list, and returns the instances by provider ID.
func (t *trial) listAll() map[string]cloudprovider.InstanceMetadata {
	lister := offered[provider.InstanceLister](t, t.instances(), "InstanceLister")
	listed := map[string]cloudprovider.InstanceMetadata{}
	token := ""
	for range maxPages {
		page, err := lister.ListInstances(t.ctx, token)
		if err != nil {
			t.failf("ListInstances(token %q) = %v; want a page", token, err)
		}
		for _, i := range page.Instances {
			listed[i.ProviderID] = i
		}
		if token = page.Next; token == "" {
			return listed
		}
	}
	t.failf("ListInstances has more than %d pages; want an end", maxPages)
	return nil
}

func fastListFault(t *trial) {
	lister := offered[provider.InstanceLister](t, t.instances(), "InstanceLister")
	t.machine("a")
	defer t.fault(Fault{Kind: FaultUnavailable})()
	page, err := lister.ListInstances(t.ctx, "")
	if err == nil || len(page.Instances) > 0 || page.Next != "" {
		t.failf("ListInstances(token \"\") = a page with %d instances, %v, while the cloud was not available; want a zero page and an error", len(page.Instances), shown(err))
	}
}

// watch calls WatchInstances. An error or an empty token fails the check.
func (t *trial) watch(watcher provider.InstanceWatcher, token string) provider.InstanceChanges {
	changes, err := watcher.WatchInstances(t.ctx, token)
	if err != nil || changes.Resume == "" {
		t.failf("WatchInstances(token %q) = %+v, %v; want a token to resume with, nil", token, changes, shown(err))
	}
	return changes
}

// maxAnswers is the maximum number of answers that are read to find a change. A watch
// may report other changes first.
const maxAnswers = 100

func fastWatch(t *trial) {
	watcher := offered[provider.InstanceWatcher](t, t.instances(), "InstanceWatcher")
	m := t.machine("a")
	token := t.watch(watcher, "").Resume
	t.terminate(m)
	for range maxAnswers {
		changes := t.watch(watcher, token)
		if slices.ContainsFunc(changes.Changed, func(r provider.InstanceRef) bool {
			return r.ProviderID == m.ProviderID || r.ProviderID == "" && r.NodeName == m.Name
		}) {
			return
		}
		token = changes.Resume
	}
	t.failf("WatchInstances did not name machine %s in %d answers, and it was terminated after the first; want it among the changes", m.ProviderID, maxAnswers)
}

func fastWatchCancel(t *trial) {
	watcher := offered[provider.InstanceWatcher](t, t.instances(), "InstanceWatcher")
	t.machine("a")
	token := t.watch(watcher, "").Resume
	t.inTime(fmt.Sprintf("WatchInstances(token %q)", token), "although its context had ended", func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, brief)
		defer cancel()
		_, _ = watcher.WatchInstances(ctx, token) // it returns an error, or earlier changes
	})
}
