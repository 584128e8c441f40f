package node

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodecause"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// saysAbsent reports whether the cloud has answered that there is no instance of the
// Node. Every other failure says nothing about the instance.
func saysAbsent(a answer) bool { return a.given == refused && a.cause.Reason == nodecause.NotFound }

// followPresence adds to the plan that the cloud does not know the instance of a Node
// whose kubelet reports, once enough answers have said so. Nothing else follows from it:
// only the Nodes of silent kubelets are ever deleted.
func followPresence(o observed, p *plan) {
	switch {
	case o.answer.given == described:
		p.memory.absences = 0
	case saysAbsent(o.answer) && nodefact.Reports(o.node):
		p.memory.absences++
	}
	shown := nodefact.Condition(o.node, ConditionUnfound)
	isTrue := shown != nil && shown.Status == corev1.ConditionTrue
	want := showing.Condition{Type: ConditionUnfound, Status: corev1.ConditionTrue, Cause: isUnfound()}
	switch {
	case p.memory.absences >= removeAfter:
		if p.memory.absences == removeAfter && saysAbsent(o.answer) && !isTrue {
			p.events = append(p.events, unfoundNode.Event(isUnfound().Message))
		}
	case isTrue && o.answer.given == described && !isOther(o):
		want.Status, want.Cause = corev1.ConditionFalse, isFound()
	default:
		return
	}
	if p.condition == nil && (shown == nil || shown.Status != want.Status) {
		p.condition = want.At(o.now, shown)
	}
}
