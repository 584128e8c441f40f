package conformance

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// The parts of the contract that the checks of instances cite.
const (
	sourceExists   = "InstancesV2.InstanceExists: returns true if the instance for the given node exists according to the cloud provider"
	sourceShutdown = "InstancesV2.InstanceShutdown: returns true if the instance is shutdown according to the cloud provider"
	sourceMetadata = "InstancesV2.InstanceMetadata: always check node.spec.providerID first; cases where it is empty"
	sourceAnswers  = "InstanceMetadata: its values are translated into fields and labels of the Node"
	sourceNotFound = "cloudprovider.InstanceNotFound, and InstanceExists: false without an error deletes the Node"
	sourceID       = "InstanceMetadata.ProviderID: its format must not change in any incompatible way"
	sourceContext  = "the ctx of each method, as package context says"
	sourceNone     = "not part of the contract"
)

// These texts are the Cost of more than one check.
const (
	costDeleted   = "The Node of a running machine is deleted, together with its pods."
	costNeverGone = "The Node of a machine that is gone is never deleted, and its pods are not started elsewhere."
	costConfused  = "A Node gets addresses and labels of another machine."
	costQuota     = "The cloud's quota of calls bounds how large a cluster can be."
	costStuck     = "Workers wait for a cloud that does not answer, and nothing is done for any Node."
)

// namesInstance reports whether a text is <scheme>://<ID>.
func namesInstance(providerID string) bool {
	scheme, id, ok := strings.Cut(providerID, "://")
	return ok && scheme != "" && strings.TrimSpace(id) != "" && !strings.HasSuffix(strings.TrimSpace(id), "/") && !isFormatted(id)
}

// identityChecks are the checks about finding the instance of a Node.
var identityChecks = []Check{
	{
		ID: "instances/by-name", Level: Core, Needs: needs(needMachines), Source: sourceMetadata,
		Title: "The instance of a Node without provider ID is found, and has a provider ID",
		Cost:  "A new Node is never initialised, and no pod is scheduled to it.",
		run: func(t *trial) {
			n := named(t.machine("a"))
			t.awaitPresent(n)
			if got := t.metadata(n); got.ProviderID == "" {
				t.failf("InstanceMetadata(%s) has an empty ProviderID", show(n))
			}
		},
	},
	{
		ID: "instances/by-id", Level: Core, Needs: needs(needMachines), Source: sourceMetadata,
		Title: "The provider ID of a Node wins over its name",
		Cost:  costConfused,
		run: func(t *trial) {
			a, b := t.machine("a"), t.machine("b")
			t.awaitPresent(joined(b))
			t.eventually(func() error { return t.is(identified(b.Name, a.ProviderID), a) })
		},
	},
	{
		ID: "instances/id-round-trip", Level: Core, Needs: needs(needMachines), Source: sourceID,
		Title: "A provider ID is <scheme>://<ID>, stays the same after a restart, and is understood",
		Cost:  "Nodes lose their instances with the next start of the daemon.",
		run: func(t *trial) {
			m := t.machine("a")
			before := t.awaitMetadata(named(m)).ProviderID
			if !namesInstance(before) {
				t.failf("InstanceMetadata(%s) has the provider ID %q; want <scheme>://<ID>", show(named(m)), before)
			}
			t.restart()
			for _, n := range []*corev1.Node{identified(m.Name, before), named(m)} {
				if after := t.metadata(n).ProviderID; after != before {
					t.failf("after a restart InstanceMetadata(%s) has the provider ID %q; want %q as before", show(n), after, before)
				}
			}
		},
	},
	{
		ID: "instances/id-legacy", Level: Core, Needs: needs(needMachines), Source: sourceID,
		Title: "Older forms of the provider ID are still understood",
		Cost:  "Nodes lose their instances with the next version of the provider.",
		run: func(t *trial) {
			if t.target.LegacyProviderIDs == nil {
				t.unsupportedf("the target has no older forms of the provider ID")
			}
			m := t.machine("a")
			for _, id := range t.target.LegacyProviderIDs(m) {
				n := identified(m.Name, id)
				t.awaitPresent(n)
				t.metadata(n)
			}
		},
	},
	{
		ID: "instances/foreign-id", Level: Core, Needs: needs(needMachines), Source: sourceNotFound,
		Title: "An instance of another cloud is not called absent",
		Cost:  "In a cluster with machines of two clouds: " + costDeleted,
		run: func(t *trial) {
			ours, _, _ := strings.Cut(t.machine("a").ProviderID, "://")
			for _, id := range foreignIDs {
				if !strings.HasPrefix(id, ours+"://") {
					t.notAbsent(t.ctx, identified(t.name("foreign"), id), "another cloud")
				}
			}
		},
	},
	{
		ID: "instances/malformed-id", Level: Core, Needs: needs(needMachines), Source: sourceNotFound,
		Title: "No provider ID makes the provider panic or hang, and an ID that names no instance is an error",
		Cost:  "One Node with a mistyped provider ID stops the daemon, or is deleted.",
		run: func(t *trial) {
			m := t.machine("a")
			scheme, _, _ := strings.Cut(m.ProviderID, "://")
			for _, rest := range []string{"", "://", ":///", ":// ", "://..", "://../..", ":// /.."} {
				t.notAbsent(t.ctx, identified(t.name("malformed"), scheme+rest), "malformed provider ID")
			}
			t.mutate(m.ProviderID)
		},
	},
	{
		ID: "instances/same-name-twice", Level: Core, Needs: needs(needMachines), Source: sourceMetadata,
		Title: "If two instances have the name of a Node without provider ID, the answer is an error",
		Cost:  "A Node gets the provider ID of another machine, and is deleted with it.",
		run: func(t *trial) {
			m := t.machine("a")
			twin, err := as[Machines](t).CreateMachine(t.ctx, m.Name)
			if errors.Is(err, ErrCannot) {
				t.unsupportedf("names are unique in this cloud")
			}
			t.must("create a second machine "+m.Name, err)
			t.terminateAfterwards(twin)
			t.eventually(func() error { return t.undescribed(named(m)) })
			t.notAbsent(t.ctx, named(m), "two instances have the name")
		},
	},
	{
		ID: "instances/two-nodes", Level: Core, Needs: needs(needMachines), Source: sourceMetadata,
		Title: "Each of two Nodes gets its own answer",
		Cost:  costConfused,
		run: func(t *trial) {
			machines := t.machines("a", "b")
			t.awaitMetadata(named(machines[0]))
			t.awaitMetadata(named(machines[1]))
			for n := range 24 {
				m := machines[n%2]
				if err := t.is(both(m)[n/2%2], m); err != nil {
					t.failf("question %d: %v", n+1, err)
				}
			}
		},
	},
	{
		ID: "instances/pages", Level: Extended, Needs: needs(needMachines), Source: sourceExists,
		Title: "All instances are found, even if the cloud's list has several pages",
		Cost:  "In a large cluster: " + costDeleted,
		run: func(t *trial) {
			size := t.target.PageSize
			if size == 0 {
				t.notRunf("needs Target.PageSize, the size of the cloud's pages")
			}
			for _, m := range t.machines(roles(2*size + 1)...) {
				t.eventually(func() error { return errors.Join(t.is(named(m), m), t.is(joined(m), m)) })
			}
		},
	},
}

// foreignIDs are provider IDs as the providers of other clouds write them.
var foreignIDs = []string{
	"aws:///eu-central-1a/i-0123456789abcdef0",
	"azure:///subscriptions/0b1f6471-1bf0-4dda-aec3-cb9272f09590/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/vm-1",
	"digitalocean://123456789",
	"gce://project-1/europe-west1-b/vm-1",
	"hcloud://12345678",
	"k3s://server-1",
	"kind://docker/kind/kind-worker",
	"openstack:///7a2e4f5c-2a06-4a3e-8f38-0d6a2f0f5b0c",
}

// mutate asks about Nodes whose provider IDs are random changes of the given one. Any answer
// is right, because there may be no instance with this ID.
func (t *trial) mutate(providerID string) {
	const mutations, callers = 200, 4     // one caller alone would take a minute in a real cloud
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same mutations each time
	nodes := make(chan *corev1.Node, mutations)
	for range mutations {
		nodes <- identified(t.name("malformed"), mutated(random, providerID))
	}
	close(nodes)
	var wait sync.WaitGroup
	for range callers {
		wait.Go(func() {
			for n := range nodes {
				t.caught("a call with "+show(n), func() {
					_, _ = t.exists(t.ctx, n)
					_, _ = t.instances().InstanceMetadata(t.ctx, n)
				})
			}
		})
	}
	wait.Wait()
}

// mutated returns the text with a few random changes.
func mutated(random *rand.Rand, text string) string {
	pieces := []rune("/:.- \x00%0aZé~")
	for range 1 + random.IntN(3) {
		at := random.IntN(len(text) + 1)
		switch piece := string(pieces[random.IntN(len(pieces))]); random.IntN(3) {
		case 0:
			text = text[:at]
		case 1:
			text = text[:at] + piece + text[at:]
		default:
			text = text[:at] + strings.Repeat(piece, random.IntN(300)) + text[min(at+1, len(text)):]
		}
	}
	return text
}
