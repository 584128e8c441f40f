package conformance

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
)

const costNotTerminated = "The Node of a machine that exists is deleted at once when its kubelet falls silent: neither other Nodes nor the budget protect it."

var errNotListed = errors.New("the machine is not listed as terminated")

// terminationChecks are the checks of provider.Terminations.
var terminationChecks = []Check{
	{
		ID: "fastpaths/termination", Level: Core, Needs: needs(needMachines),
		Title:  "A termination has the Node's provider ID, and a time between the creation of the machine and now",
		Source: "provider.Termination: the daemon ignores any other",
		Cost:   "The Nodes of many machines that end together wait for minutes.",
		run: func(t *trial) {
			const skew = time.Minute // between the clocks of the cloud and this machine
			theirs := offered[provider.Terminations](t, t.instances())
			began, m := time.Now(), t.machine("a")
			t.terminate(m)
			var got provider.Termination
			_ = t.await(func() (err error) {
				if got, err = theirs.InstanceTermination(t.ctx, joined(m)); got == (provider.Termination{}) {
					err = errNotListed
				}
				return err
			})
			switch {
			case got == provider.Termination{}:
				t.notRunf("the provider does not call the machine terminated, although it was; the cloud may not list it any more")
			case got.ProviderID != m.ProviderID || got.At.Before(began.Add(-skew)) || got.At.After(time.Now().Add(skew)):
				t.failf("InstanceTermination(%s) = %+v; want the provider ID %q, and a time after %v and not in the future", show(joined(m)), got, m.ProviderID, began)
			}
		},
	},
	{
		ID: "fastpaths/termination-alive", Level: Core, Needs: needs(needMachines),
		Title:  "A machine that runs, and one that never existed, are not terminated",
		Source: sourceTermination,
		Cost:   costNotTerminated,
		run: func(t *trial) {
			theirs := offered[provider.Terminations](t, t.instances())
			m := t.machine("a")
			t.awaitPresent(joined(m))
			for _, n := range append(both(m), identified("foreign", "elsewhere://machine-1"), identified(t.name("never"), "")) {
				t.notTerminated(theirs, n, "the machine runs or does not exist")
			}
		},
	},
	{
		ID: "fastpaths/termination-name", Level: Core, Needs: needs(needMachines),
		Title:  "The end of a machine is not the end of a later one with its name",
		Source: sourceTermination,
		Cost:   costNotTerminated,
		run: func(t *trial) {
			theirs := offered[provider.Terminations](t, t.instances())
			first := t.machine("a")
			t.terminate(first)
			_ = t.await(func() error { return t.absent(joined(first)) }) // other checks report an instance that never becomes absent
			second := t.machine("a")
			for _, n := range both(second) {
				t.notTerminated(theirs, n, "an earlier machine of this name was terminated")
			}
		},
	},
	{
		ID: "fastpaths/termination-fault", Level: Core, Needs: needs(needMachines, needFaulter),
		Title:  "If the cloud does not answer, no machine is terminated",
		Source: sourceTermination,
		Cost:   costNotTerminated,
		run: func(t *trial) {
			offered[provider.Terminations](t, t.instances())
			m := t.machine("a")
			t.under(append(failures(), faults(FaultNotFound, FaultEmptyList, FaultTruncatedList)...), func(f Fault) {
				t.notTerminated(offered[provider.Terminations](t, t.instances()), joined(m), fmt.Sprintf("fault %s", f.Kind))
			})
		},
	},
}

const sourceTermination = "provider.Terminations: the zero value, unless the cloud itself lists this machine as terminated"

// notTerminated fails the check if the provider calls the Node's machine terminated.
func (t *trial) notTerminated(theirs provider.Terminations, n *corev1.Node, when string) {
	if got, err := theirs.InstanceTermination(t.ctx, n.DeepCopy()); got != (provider.Termination{}) {
		t.errorf("%s: InstanceTermination(%s) = %+v, %v; want the zero value, with or without an error", when, show(n), got, shown(err))
	}
}
