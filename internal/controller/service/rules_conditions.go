package service

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// conditionPause is the shortest time between two writes of a condition whose status
// stays the same.
const conditionPause = time.Minute

// serving returns the condition LoadBalancerServing of a Service that has a
// load balancer.
func serving(o observed) metav1.Condition {
	switch {
	case len(o.memory.status.Ingress) == 0:
		return newCondition(reasonNoAddress, metav1.ConditionFalse, "The load balancer exists, but the provider has not returned an address.")
	case o.hosts == 0:
		return newCondition(reasonNoNodes, metav1.ConditionFalse,
			"There are no available nodes for LoadBalancer: no node is initialised, or all are excluded by a label or a taint.")
	default:
		return newCondition(reasonReady, metav1.ConditionTrue, "The load balancer has an address and nodes.")
	}
}

// waitingConditions returns the conditions of a Service that waits because of this
// cause. This includes a Service that waits until the load balancer of an earlier
// Service with the same name is removed.
func waitingConditions(o observed, cause message.Cause) []metav1.Condition {
	if o.service == nil {
		return nil
	}
	isSuccessor := o.service.UID != o.memory.uid
	if isSuccessor && !o.policy.concerns(o.service) {
		return nil
	}
	if isSuccessor {
		cause = causeOfSuccessor(cause)
	}
	conditions := []metav1.Condition{provisioning(cause)}
	isMade := showsOne(o.service) // It would be forgotten after a restart if the condition did not show it any more (promise S2 a).
	if len(o.service.Status.LoadBalancer.Ingress) == 0 && (isSuccessor || o.memory.status == nil && !isMade) {
		conditions = append(conditions, notProvisioned(cause))
	}
	return conditions
}

// outdated returns the wanted conditions that the Service does not show yet and that
// may be written now. If other conditions have to wait, the second result is the time
// until all of them may be written. Otherwise it is 0.
func outdated(o observed, wanted ...metav1.Condition) (differ []metav1.Condition, later time.Duration) {
	for _, c := range wanted {
		c.LastTransitionTime = metav1.NewTime(o.now)
		var pause time.Duration
		switch shown := findCondition(o.service, c.Type); {
		case shown == nil, shown.Status != c.Status:
			pause = o.untilRepair(c)
		case shown.Reason == c.Reason && shown.Message == c.Message:
			continue
		default:
			pause = o.untilRewrite(shown)
			c.LastTransitionTime = shown.LastTransitionTime
		}
		if pause > 0 {
			later = max(later, pause)
			continue
		}
		differ = append(differ, c)
	}
	return differ, later
}

// untilRewrite returns the time until the reason and message of a condition may change.
// The reason "Ensuring" may be replaced at once.
func (o observed) untilRewrite(shown *metav1.Condition) time.Duration {
	if shown.Reason == reasonFirstCall.Name {
		return 0
	}
	written := shown.LastTransitionTime.Time
	if written.Before(o.memory.writtenAt) {
		written = o.memory.writtenAt
	}
	return min(max(conditionPause-o.now.Sub(written), 0), conditionPause) // The clock of the process that has written the condition can be ahead.
}

// untilRepair returns the time until a condition may be written again. If this process
// has written the same status a short time ago, somebody else has changed the condition
// since. Then the time is positive.
func (o observed) untilRepair(c metav1.Condition) time.Duration {
	if o.memory.uid != o.service.UID || o.memory.written[c.Type] != c.Status {
		return 0
	}
	return max(showing.PutBackAfter-o.now.Sub(o.memory.writtenAt), 0)
}

// withConditions returns the plan that also writes these conditions.
func (p plan) withConditions(conditions []metav1.Condition, now time.Time) plan {
	p.writes.conditions = conditions
	p.memory = p.memory.withConditions(conditions, now)
	return p
}

func findCondition(service *corev1.Service, conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(service.Status.Conditions, conditionType)
}

// ownConditions returns the types of this controller's conditions that the Service
// shows.
func ownConditions(service *corev1.Service) []string {
	var own []string
	for _, conditionType := range []string{ConditionServing, ConditionProvisioning, ConditionCleanupHeld} {
		if findCondition(service, conditionType) != nil {
			own = append(own, conditionType)
		}
	}
	return own
}

// managerOf returns the names of the field managers that own a field of the Service.
// Messages show these names.
func managerOf(service *corev1.Service, field string) string {
	return cmp.Or(showing.Managers(service, `"`+field+`"`), "unknown")
}
