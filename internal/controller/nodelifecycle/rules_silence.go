package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// silence reports whether the kubelet of a Node is silent, and why.
type silence struct {
	silent bool
	why    string
	// from is the time at which the kubelet becomes silent if it sends no more reports.
	// It is zero if the kubelet is silent already, or if only a change of the Ready
	// condition can make it silent.
	from time.Time
}

// firstLimit bounds the first questions: those that are asked because a kubelet has
// fallen silent. A report of the kubelet resets the evidence, so a Node whose Ready
// condition changes all the time causes many first questions. Later questions need no
// such bound, because there are pauses between them.
var firstLimit = allowance.Limit{Burst: 5, Every: time.Minute, Least: 5 * time.Second}

// asksLater returns the plan for a Node that has used up its first questions.
func asksLater(o observed) plan {
	return plan{
		do: doNothing, why: "the kubelet has fallen silent again and again, so the next question to the cloud has to wait",
		after: o.memory.firsts.Next(firstLimit).Sub(o.now), memory: o.memory,
	}
}

// silenceOf implements promise S1 a. Ready=Unknown comes from kube-controller-manager,
// which watches the heartbeats. Ready=False with a fresh heartbeat comes from the
// kubelet.
func silenceOf(node *corev1.Node, now time.Time, after time.Duration) silence {
	ready := nodefact.Condition(node, corev1.NodeReady)
	switch {
	case ready == nil:
		return silentFrom(node.CreationTimestamp.Add(after), now, "it has never reported")
	case ready.Status == corev1.ConditionTrue:
		return silence{why: "it reports"}
	case ready.Status == corev1.ConditionUnknown:
		return silence{silent: true, why: "Ready is Unknown"}
	case ready.LastHeartbeatTime.IsZero():
		return silentFrom(node.CreationTimestamp.Add(after), now, "it has never sent a heartbeat")
	default:
		return silentFrom(ready.LastHeartbeatTime.Add(after), now, "its last report is old")
	}
}

// heartbeat returns the time of the kubelet's last report. If it has never reported,
// that is the creation time of the Node, as kube-controller-manager writes it, too.
func heartbeat(node *corev1.Node) time.Time {
	if ready := nodefact.Condition(node, corev1.NodeReady); ready != nil && !ready.LastHeartbeatTime.IsZero() {
		return ready.LastHeartbeatTime.Time
	}
	return node.CreationTimestamp.Time
}

func silentFrom(from, now time.Time, why string) silence {
	if now.Before(from) {
		return silence{why: "its last report is fresh", from: from}
	}
	return silence{silent: true, why: why}
}

// spared returns the plan for a Node that is not suspected. Such a Node has been
// deleted already, or the controller leaves it alone, or its kubelet reports. A report
// of the kubelet resets all evidence. The plan for any other Node is nil.
func spared(o observed) *plan {
	if o.memory.deleted == o.node.UID {
		return &plan{do: doNothing, why: "the Node is deleted", memory: o.memory}
	}
	if why, alone := o.claim.LeavesAlone(o.node); alone {
		return &plan{do: doNothing, why: why, memory: memory{evidence: evidence{}.about(o.node), firsts: o.memory.firsts}}
	}
	s := silenceOf(o.node, o.now, o.limits.SilentAfter)
	if s.silent {
		return nil
	}
	p := plan{do: doNothing, why: "the kubelet is not silent: " + s.why, taints: shutdownTaint(o.node, running)}
	if !s.from.IsZero() {
		p.after = s.from.Sub(o.now)
	}
	o.memory.evidence = evidence{}.about(o.node)
	o.memory.untainted = o.memory.untainted && p.taints != nil
	p = stays(o, p, reportsAgain())
	return &p
}

func asking(o observed) plan {
	o.memory.evidence = o.memory.evidence.begun(o.node, o.now)
	return plan{do: ask, why: "the kubelet is silent: " + silenceOf(o.node, o.now, o.limits.SilentAfter).why, memory: o.memory}
}
