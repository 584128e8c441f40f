package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// silence tells whether a Node's kubelet is silent.
type silence struct {
	silent bool
	why    string
	// from is when a kubelet that says nothing more will count as silent; zero
	// where only a change of the Ready condition can tell.
	from time.Time
}

// silenceOf is the first part of S1. Ready=Unknown is the judgement of
// kube-controller-manager, which sees the heartbeats. Ready=False with a fresh
// heartbeat is the machine speaking.
func silenceOf(node *corev1.Node, now time.Time, after time.Duration) silence {
	ready := nodefact.Condition(node, corev1.NodeReady)
	switch {
	case ready == nil:
		return lapsing(node.CreationTimestamp.Time, now, after, "it has never reported")
	case ready.Status == corev1.ConditionTrue:
		return silence{why: "it reports"}
	case ready.Status == corev1.ConditionUnknown:
		return silence{silent: true, why: "Ready is Unknown"}
	default:
		last := ready.LastHeartbeatTime.Time
		if last.IsZero() {
			last = node.CreationTimestamp.Time
		}
		return lapsing(last, now, after, "its last report is old")
	}
}

func lapsing(last, now time.Time, after time.Duration, why string) silence {
	from := last.Add(after)
	if now.Before(from) {
		return silence{why: "its last report is fresh", from: from}
	}
	return silence{silent: true, why: why}
}
