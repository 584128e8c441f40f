package follow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// machine holds the follower's knowledge about an instance: the name with which its kubelet was
// first booted, and whether the kubelet runs.
type machine struct {
	node string
	on   bool
}

type verb int

const (
	refuse verb = iota // do not boot a kubelet, although the instance runs
	boot
	kill
	forget // the instance does not run and will never run again
)

// action is one thing to do for one instance.
type action struct {
	do       verb
	instance string
	node     string
	why      string
}

// plan returns the actions that are due. First, they kill the kubelets of instances that are
// stopped or gone, because a new node may need the name of a killed one. Then they boot a kubelet
// for each running instance that has none, if possible. The keys of machines are the IDs of all
// instances that were booted and might run again.
func plan(instances []simulator.Instance, machines map[string]machine) []action {
	known := make(map[string]simulator.Instance, len(instances))
	for _, i := range instances {
		known[i.ID] = i
	}
	after := maps.Clone(machines)
	var actions []action
	for _, id := range slices.Sorted(maps.Keys(machines)) {
		a, ends := ending(id, machines[id], known)
		if !ends {
			continue
		}
		actions = append(actions, a)
		delete(after, id)
	}
	running := slices.DeleteFunc(slices.Clone(instances), func(i simulator.Instance) bool {
		return i.State != simulator.Running || machines[i.ID].on
	})
	slices.SortFunc(running, func(a, b simulator.Instance) int { return cmp.Compare(a.ID, b.ID) })
	for _, i := range running {
		a := beginning(i, machines[i.ID].node, after)
		if a.do == boot {
			if after == nil {
				after = map[string]machine{}
			}
			after[i.ID] = machine{node: a.node, on: true}
		}
		actions = append(actions, a)
	}
	return actions
}

// ending returns the action that ends the machine of a booted instance. The second result
// is false if no action is needed.
func ending(id string, m machine, known map[string]simulator.Instance) (a action, ends bool) {
	i, exists := known[id]
	gone := !exists || i.State == simulator.Terminated
	off := gone || i.State == simulator.Stopped
	a = action{instance: id, node: m.node, why: fmt.Sprintf("the instance is %s", i.State)}
	if !exists {
		a.why = "the cloud no longer lists the instance"
	}
	switch {
	case off && m.on:
		a.do = kill
		return a, true
	case gone:
		a.do = forget
		return a, true
	default:
		return action{}, false
	}
}

// beginning returns the action for a running instance without a kubelet. If the instance was booted
// before, the Node keeps its earlier name: a machine does not notice that its instance was renamed
// in the cloud.
func beginning(i simulator.Instance, node string, machines map[string]machine) action {
	a := action{do: boot, instance: i.ID, node: cmp.Or(node, i.Name), why: "the instance runs"}
	if len(validation.IsDNS1123Subdomain(a.node)) > 0 {
		a.do, a.why = refuse, "only a DNS name in lower case can be a Node's"
		return a
	}
	for _, id := range slices.Sorted(maps.Keys(machines)) {
		if m := machines[id]; m.on && m.node == a.node && id != i.ID {
			a.do, a.why = refuse, fmt.Sprintf("instance %s runs under the same name", id)
			return a
		}
	}
	return a
}
