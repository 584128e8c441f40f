package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodecause"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// saysAbsent reports whether the cloud has answered that there is no instance of the
// Node. Every other failure says nothing about the instance.
func saysAbsent(a answer) bool { return a.given == refused && a.cause.Reason == nodecause.NotFound }

// unfoundOver is the time over which the answers have to say so. A machine that has just
// ended is absent, too, and its kubelet counts as reporting for most of a minute.
const unfoundOver = 2 * time.Minute

// followPresence adds to the plan that the cloud does not know the instance of a Node
// whose kubelet reports, once enough answers have said so. Nothing else follows from it:
// only the Nodes of silent kubelets are ever deleted.
func followPresence(o observed, p *plan) {
	isAbsent := saysAbsent(o.answer) && nodefact.Reports(o.node)
	switch {
	case o.answer.given == described:
		p.memory.absences, p.memory.unfound = 0, false
	case isAbsent && p.memory.absences == 0:
		p.memory.absences, p.memory.absentSince = 1, o.now
	case isAbsent:
		p.memory.absences++
	}
	isNews := isAbsent && !p.memory.unfound && p.memory.absences >= removeAfter && o.now.Sub(p.memory.absentSince) >= unfoundOver
	p.memory.unfound = p.memory.unfound || isNews
	shown := nodefact.Condition(o.node, ConditionUnfound)
	isTrue := shown != nil && shown.Status == corev1.ConditionTrue
	want := showing.Condition{Type: ConditionUnfound, Status: corev1.ConditionTrue, Cause: isUnfound()}
	switch {
	case p.memory.unfound:
		if isNews && !isTrue {
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
