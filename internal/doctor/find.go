package doctor

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
)

// The functions in this file make checks of functions that look at one object. Such a
// function returns a Finding without a message if it has found nothing. The object of
// the Finding is filled in.

// eachNode calls f for each Node that is not left alone.
func eachNode(v *cluster.View, f func(*corev1.Node)) {
	for i := range v.Nodes {
		if cluster.LeftAloneBy(&v.Nodes[i]) == "" {
			f(&v.Nodes[i])
		}
	}
}

func ofNodes(look func(*cluster.View, *corev1.Node) Finding) func(*cluster.View) []Finding {
	return func(v *cluster.View) (all []Finding) {
		eachNode(v, func(n *corev1.Node) { all = add(all, "node/"+n.Name, look(v, n)) })
		return all
	}
}

func ofServices(look func(*cluster.View, *corev1.Service) Finding) func(*cluster.View) []Finding {
	return func(v *cluster.View) (all []Finding) {
		for i := range v.Services {
			all = add(all, serviceObject(&v.Services[i]), look(v, &v.Services[i]))
		}
		return all
	}
}

func serviceObject(s *corev1.Service) string { return "service/" + cluster.NameOf(s) }

// ofWorkloads is for the managers whose workloads are visible.
func ofWorkloads(look func(*cluster.View, cluster.Manager, *cluster.Workload) Finding) func(*cluster.View) []Finding {
	return func(v *cluster.View) (all []Finding) {
		for _, m := range v.Managers() {
			if m.Workload != nil {
				all = add(all, m.Object(), look(v, m, m.Workload))
			}
		}
		return all
	}
}

// ofComponent is for the Pods of a component of the control plane.
func ofComponent(name string, look func(*cluster.View, *cluster.Pod, cluster.Flags) Finding) func(*cluster.View) []Finding {
	return func(v *cluster.View) (all []Finding) {
		for _, p := range v.Component(name) {
			all = add(all, p.Object(), look(v, &p, p.Flags()))
		}
		return all
	}
}

// withoutPods returns a function for Check.cannot.
func withoutPods(component string) func(*cluster.View) string {
	return func(v *cluster.View) string {
		if len(v.Component(component)) == 0 {
			return "no Pod of " + component + " is visible, as in a managed control plane"
		}
		return ""
	}
}

// add adds a Finding, unless it is empty. A Finding keeps its own object, if it has one.
func add(all []Finding, object string, f Finding) []Finding {
	if f.Message == "" {
		return all
	}
	if f.Object == "" {
		f.Object = object
	}
	return append(all, f)
}

// found returns a Finding with this message.
func found(format string, values ...any) Finding {
	return Finding{Message: fmt.Sprintf(format, values...)}
}

// mostNames is the maximum number of names in a finding.
const mostNames = 10

// limited returns the names. If there are more than mostNames, it returns the first
// mostNames and says how many more there are.
func limited(names []string) []string {
	if len(names) <= mostNames {
		return names
	}
	return append(names[:mostNames:mostNames], fmt.Sprintf("and %d more", len(names)-mostNames))
}

// have returns "Node a has" or "3 Nodes have".
func have(names []string) string {
	if len(names) == 1 {
		return "Node " + names[0] + " has"
	}
	return fmt.Sprintf("%d Nodes have", len(names))
}
