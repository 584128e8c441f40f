package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

const costWrongNode = "A Node gets the labels and addresses of another Node, or its instance counts as gone although it exists."

// fastInstanceChecks are the checks of the optional interfaces of InstancesV2. If a provider
// does not offer an interface, the checks of that interface end as Unsupported.
var fastInstanceChecks = []Check{
	{
		ID: "fastpaths/batch", Level: Core, Needs: needs(needMachines),
		Title:  "A batch has the same answer for each node as InstanceMetadata",
		Source: "provider.InstanceMetadataBatcher: one answer for each node, in the order of nodes",
		Cost:   costWrongNode,
		run: func(t *trial) {
			t.offersBatch()
			m := t.machines(roles(3)...)
			nodes := []*corev1.Node{joined(m[2]), named(m[1]), joined(m[0])}
			t.sameAsSingle(nodes)
		},
	},
	{
		ID: "fastpaths/batch-bad-id", Level: Core, Needs: needs(needMachines),
		Title:  "A node without an instance does not affect the other answers of a batch",
		Source: "provider.InstanceMetadataBatcher: an error of one node is part of its answer",
		Cost:   "One Node keeps all others from being initialised.",
		run: func(t *trial) {
			t.offersBatch()
			m, gone := t.machine("a"), t.machine("b")
			own, _, _ := strings.Cut(m.ProviderID, "://")
			t.terminate(gone)
			t.sameAsSingle([]*corev1.Node{identified("foreign", "elsewhere://machine-1"), joined(m), joined(gone)})
			t.sameAsSingle([]*corev1.Node{named(gone), identified("malformed", own+"://"), joined(m)})
		},
	},
	{
		ID: "fastpaths/batch-fault", Level: Core, Needs: needs(needMachines, needFaulter),
		Title:  "If the cloud does not answer, a batch calls no instance absent",
		Source: "provider.InstanceMetadataBatcher: an error of the whole call is returned with a nil slice",
		Cost:   "Nodes are deleted because the cloud did not answer.",
		run: func(t *trial) {
			t.offersBatch()
			nodes := []*corev1.Node{joined(t.machine("a")), named(t.machine("b"))}
			batcher := t.batcher(nodes)
			for _, f := range faults(FaultUnavailable, FaultForbidden, FaultReset) {
				restore := t.fault(f)
				answers, err := batcher.InstanceMetadataBatch(t.ctx, copies(nodes))
				restore()
				for n, got := range answers {
					if err == nil && (got.Err == nil || errors.Is(got.Err, cloudprovider.InstanceNotFound)) {
						t.failf("InstanceMetadataBatch(%s) has %+v, %v for %s with the fault %s; want another error", showNodes(nodes), got.Metadata, shown(got.Err), show(nodes[n]), f.Kind)
					}
				}
			}
		},
	},
	{
		ID: "fastpaths/list", Level: Core, Needs: needs(needMachines),
		Title:  "The pages of a list describe each instance as InstanceMetadata does",
		Source: "provider.InstanceLister: each instance means what InstanceMetadata would have returned",
		Cost:   costWrongNode,
		run: func(t *trial) {
			lister := offered[provider.InstanceLister](t, t.instances())
			machines := t.machines(roles(5)...)
			gone := machines[4]
			t.terminate(gone)
			listed := t.listAll(lister)
			for _, m := range machines[:4] {
				alone := t.metadata(joined(m))
				if is, ok := listed[m.ProviderID]; !ok || !reflect.DeepEqual(is, *alone) {
					t.failf("the pages of ListInstances have %+v for machine %s (is there: %v), and InstanceMetadata = %+v; want the same", is, m.ProviderID, ok, *alone)
				}
			}
			if is, ok := listed[gone.ProviderID]; ok {
				t.failf("the pages of ListInstances have %+v, whose machine was terminated; want it left out", is)
			}
		},
	},
	{
		ID: "fastpaths/list-fault", Level: Core, Needs: needs(needMachines, needFaulter),
		Title:  "If the cloud does not answer, a list returns an error and no page",
		Source: "provider.InstanceLister: an error is returned with a zero page",
		Cost:   costWrongNode,
		run: func(t *trial) {
			lister := offered[provider.InstanceLister](t, t.instances())
			t.machine("a")
			t.fault(Fault{Kind: FaultUnavailable})
			page, err := lister.ListInstances(t.ctx, "")
			if err == nil || len(page.Instances) > 0 || page.Next != "" {
				t.failf("ListInstances(token \"\") = a page with %d instances, %v, while the cloud was not available; want a zero page and an error", len(page.Instances), shown(err))
			}
		},
	},
	{
		ID: "fastpaths/watch", Level: Core, Needs: needs(needMachines),
		Title:  "A watch names a machine that was terminated after its token",
		Source: "provider.InstanceChanges: a call with Resume misses no change",
		Cost:   "A machine that is gone keeps its Node for minutes.",
		run: func(t *trial) {
			watcher := offered[provider.InstanceWatcher](t, t.instances())
			m := t.machine("a")
			token := t.watch(watcher, "").Resume
			t.terminate(m)
			const answers = 100 // a watch may report other changes first
			for range answers {
				changes := t.watch(watcher, token)
				if slices.ContainsFunc(changes.Changed, func(r provider.InstanceRef) bool {
					return r.ProviderID == m.ProviderID || r.ProviderID == "" && r.NodeName == m.Name
				}) {
					return
				}
				token = changes.Resume
			}
			t.failf("WatchInstances did not name machine %s in %d answers, and it was terminated after the first; want it among the changes", m.ProviderID, answers)
		},
	},
	{
		ID: "fastpaths/watch-cancel", Level: Core, Needs: needs(needMachines),
		Title:  "A watch without changes returns when its context ends",
		Source: "provider.InstanceWatcher: the context of WatchInstances",
		Cost:   "The daemon does not stop when it should.",
		run: func(t *trial) {
			watcher := offered[provider.InstanceWatcher](t, t.instances())
			t.machine("a")
			token := t.watch(watcher, "").Resume
			t.inTime(fmt.Sprintf("WatchInstances(token %q)", token), "although its context had ended", func(ctx context.Context) {
				ctx, cancel := context.WithTimeout(ctx, soon)
				defer cancel()
				_, _ = watcher.WatchInstances(ctx, token) // it returns an error, or earlier changes
			})
		},
	},
}

// offered returns a part of the provider as the optional interface T. It ends the check if
// the part does not implement T. A check asks for the interface before it asks the world for
// machines.
func offered[T any](t *trial, part any) T {
	found, ok := part.(T)
	if !ok {
		t.unsupportedf("the provider does not offer %v", reflect.TypeFor[T]())
	}
	return found
}

func (t *trial) offersBatch() provider.InstanceMetadataBatcher {
	return offered[provider.InstanceMetadataBatcher](t, t.instances())
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
			t.failf("%s has %+v, %v for %s, and InstanceMetadata = %+v, %v; want the same", call, got.Metadata, shown(got.Err), show(node), alone, shown(err))
		}
	}
}

// listAll reads all pages of the list, and returns the instances by provider ID.
func (t *trial) listAll(lister provider.InstanceLister) map[string]cloudprovider.InstanceMetadata {
	const most = 10000 // pages; no account has so many
	listed := map[string]cloudprovider.InstanceMetadata{}
	token := ""
	for range most {
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
	t.failf("ListInstances has more than %d pages; want an end", most)
	return nil
}

// watch calls WatchInstances. An error or an empty token fails the check.
func (t *trial) watch(watcher provider.InstanceWatcher, token string) provider.InstanceChanges {
	changes, err := watcher.WatchInstances(t.ctx, token)
	if err != nil || changes.Resume == "" {
		t.failf("WatchInstances(token %q) = %+v, %v; want a token to resume with, nil", token, changes, shown(err))
	}
	return changes
}
