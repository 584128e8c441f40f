package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// identityChecks returns the checks about finding the instance of a Node.
func identityChecks() []Check {
	machines := []Need{NeedMachines}
	return []Check{
		{
			ID: "instances/by-name", Level: Core, Since: "0.2", Needs: machines, run: byName,
			Title:  "The instance of a Node without provider ID is found, and has a provider ID",
			Source: sourceMetadata, Cost: "A new Node is never initialised, and no pod is scheduled to it.",
		},
		{
			ID: "instances/by-id", Level: Core, Since: "0.2", Needs: machines, run: byID,
			Title:  "The provider ID of a Node wins over its name",
			Source: sourceMetadata, Cost: "A Node gets addresses and labels of another machine.",
		},
		{
			ID: "instances/id-round-trip", Level: Core, Since: "0.2", Needs: machines, run: idRoundTrip,
			Title:  "A provider ID is <scheme>://<ID>, stays the same after a restart, and is understood",
			Source: sourceID, Cost: "Nodes lose their instances with the next start of the daemon.",
		},
		{
			ID: "instances/id-legacy", Level: Core, Since: "0.2", Needs: machines, run: idLegacy,
			Title:  "Older forms of the provider ID are still understood",
			Source: sourceID, Cost: "Nodes lose their instances with the next version of the provider.",
		},
		{
			ID: "instances/foreign-id", Level: Core, Since: "0.2", Needs: machines, run: foreignID,
			Title:  "An instance of another cloud is not called absent",
			Source: sourceNotFound, Cost: "In a cluster with machines of two clouds: " + costDeleted,
		},
		{
			ID: "instances/malformed-id", Level: Core, Since: "0.2", Needs: machines, run: malformedID,
			Title:  "No provider ID makes the provider panic or hang, and an ID that names no instance is an error",
			Source: sourceNotFound, Cost: "One Node with a mistyped provider ID stops the daemon, or is deleted.",
		},
		{
			ID: "instances/same-name-twice", Level: Core, Since: "0.2", Needs: machines, run: sameNameTwice,
			Title:  "If two instances have the name of a Node without provider ID, the answer is an error",
			Source: sourceMetadata, Cost: "A Node gets the provider ID of another machine, and is deleted with it.",
		},
		{
			ID: "instances/two-nodes", Level: Core, Since: "0.2", Needs: machines, run: twoNodes,
			Title:  "Each of two Nodes gets its own answer",
			Source: sourceMetadata, Cost: "A Node gets addresses and labels of another machine.",
		},
		{
			ID: "instances/pages", Level: Extended, Since: "0.2", Needs: machines, run: pages,
			Title:  "All instances are found, even if the cloud's list has several pages",
			Source: sourceExists, Cost: "In a large cluster: " + costDeleted,
		},
	}
}

func byName(t *trial) {
	n := named(t.machine("a"))
	t.eventually(func() error { return t.present(n) })
	if got := t.metadata(n); got.ProviderID == "" {
		t.failf("InstanceMetadata(%s) has an empty ProviderID", show(n))
	}
}

func byID(t *trial) {
	a, b := t.machine("a"), t.machine("b")
	t.eventually(func() error { return t.present(joined(b)) })
	t.eventually(func() error { return t.is(identified(b.Name, a.ProviderID), a) })
}

func idRoundTrip(t *trial) {
	m := t.machine("a")
	t.eventually(func() error { return t.present(named(m)) })
	before := t.metadata(named(m)).ProviderID
	if scheme, id, ok := strings.Cut(before, "://"); !ok || scheme == "" || strings.Trim(id, "/") == "" {
		t.failf("InstanceMetadata(%s) has the provider ID %q; want <scheme>://<ID>", show(named(m)), before)
	}
	t.restart()
	n := identified(m.Name, before)
	if after := t.metadata(n).ProviderID; after != before {
		t.failf("after a restart InstanceMetadata(%s) has the provider ID %q", show(n), after)
	}
	if after := t.metadata(named(m)).ProviderID; after != before {
		t.failf("after a restart InstanceMetadata(%s) has the provider ID %q; want %q as before", show(named(m)), after, before)
	}
}

func idLegacy(t *trial) {
	if t.suite.target.LegacyProviderIDs == nil {
		t.unsupportedf("the target has no older forms of the provider ID")
	}
	m := t.machine("a")
	for _, id := range t.suite.target.LegacyProviderIDs(m) {
		n := identified(m.Name, id)
		t.eventually(func() error { return t.present(n) })
		t.metadata(n)
	}
}

// foreignIDs returns provider IDs as the providers of other clouds write them.
func foreignIDs() []string {
	return []string{
		"aws:///eu-central-1a/i-0123456789abcdef0",
		"azure:///subscriptions/0b1f6471-1bf0-4dda-aec3-cb9272f09590/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/vm-1",
		"digitalocean://123456789",
		"gce://project-1/europe-west1-b/vm-1",
		"hcloud://12345678",
		"k3s://server-1",
		"kind://docker/kind/kind-worker",
		"openstack:///7a2e4f5c-2a06-4a3e-8f38-0d6a2f0f5b0c",
	}
}

func foreignID(t *trial) {
	m := t.machine("a")
	ours, _, _ := strings.Cut(m.ProviderID, "://")
	for _, id := range foreignIDs() {
		if !strings.HasPrefix(id, ours+"://") {
			t.notAbsent(t.ctx, identified(t.name("foreign"), id), "another cloud")
		}
	}
}

func malformedID(t *trial) {
	m := t.machine("a")
	scheme, _, _ := strings.Cut(m.ProviderID, "://")
	for _, id := range []string{scheme, scheme + "://", scheme + ":///", scheme + ":// ", scheme + "://..", scheme + "://../..", scheme + ":// /.."} {
		t.notAbsent(t.ctx, identified(t.name("malformed"), id), "malformed provider ID")
	}
	const mutations, callers = 200, 4     // one caller alone would take a minute in a real cloud
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same mutations each time
	nodes := make(chan *corev1.Node, mutations)
	for range mutations {
		nodes <- identified(t.name("malformed"), mutated(random, m.ProviderID))
	}
	close(nodes)
	var wait sync.WaitGroup
	for range callers {
		wait.Go(func() {
			for n := range nodes {
				t.caught("a call with "+show(n), func() {
					_, _ = t.exists(t.ctx, n) // any answer is right, because there may be no instance with this ID
					_, _ = t.instances().InstanceMetadata(t.ctx, n)
				})
			}
		})
	}
	wait.Wait()
}

// mutated returns the text with a few random changes.
func mutated(random *rand.Rand, text string) string {
	const pieces = "/:.- \x00%0aZé~"
	for range 1 + random.IntN(3) {
		at := random.IntN(len(text) + 1)
		switch piece := []rune(pieces)[random.IntN(len([]rune(pieces)))]; random.IntN(3) {
		case 0:
			text = text[:at]
		case 1:
			text = text[:at] + string(piece) + text[at:]
		default:
			text = text[:at] + strings.Repeat(string(piece), random.IntN(300)) + text[min(at+1, len(text)):]
		}
	}
	return text
}

func sameNameTwice(t *trial) {
	m := t.machine("a")
	t.twin(m)
	n := named(m)
	t.eventually(func() error {
		if got, err := t.instances().InstanceMetadata(t.ctx, n); got != nil || err == nil {
			return fmt.Errorf("two instances have the name: InstanceMetadata(%s) = %+v, %w; want nil and an error", show(n), got, shown(err))
		}
		return nil
	})
	t.notAbsent(t.ctx, n, "two instances have the name")
}

// twin creates another machine of the same name. Some clouds do not allow that.
func (t *trial) twin(m Machine) {
	machines := t.world.(Machines) //nolint:forcetypeassert // the check says that it needs one
	twin, err := machines.CreateMachine(t.ctx, m.Name)
	if errors.Is(err, ErrCannot) {
		t.unsupportedf("names are unique in this cloud")
	}
	t.must("create a second machine "+m.Name, err)
	t.terminateAfterwards(twin)
}

func twoNodes(t *trial) {
	a, b := t.machine("a"), t.machine("b")
	for _, m := range []Machine{a, b} {
		t.eventually(func() error { return t.present(named(m)) })
	}
	for n := range 24 {
		m := []Machine{a, b}[n%2]
		node := []*corev1.Node{named(m), joined(m)}[n/2%2]
		if err := t.is(node, m); err != nil {
			t.failf("question %d: %v", n+1, err)
		}
	}
}

func pages(t *trial) {
	size := t.suite.target.PageSize
	if size == 0 {
		t.notRunf("needs Target.PageSize, the size of the cloud's pages")
	}
	var all []Machine
	for n := range 2*size + 1 {
		all = append(all, t.machine(fmt.Sprint("m", n)))
	}
	for _, m := range all {
		t.eventually(func() error { return t.is(named(m), m) })
		t.eventually(func() error { return t.is(joined(m), m) })
	}
}
