package service

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// firstRetry and longestRetry are upstream's.
	firstRetry   = 5 * time.Second
	longestRetry = 5 * time.Minute
	// conditionPause is how often the reason of a condition is rewritten.
	conditionPause = time.Minute
	// tellAgain is when the same reason is recorded once more.
	tellAgain = 30 * time.Minute
)

// failed is the memory after a call that has failed. A pause that the provider
// asks for is no failure of its own, and the delay does not grow for it.
func (m memory) failed(now time.Time, during step, service *corev1.Service, r refusal, pause time.Duration) memory {
	f := m.failure
	if f.count == 0 || f.during != during || f.of != shapeFor(service) {
		f = failure{during: during, of: shapeFor(service), since: now}
	}
	f.refusal = r
	f.count++
	delay := pause
	if pause <= 0 {
		delay = longestRetry
		if f.grown < 16 {
			delay = min(firstRetry<<f.grown, longestRetry)
		}
		f.grown++
	}
	f.until = now.Add(delay)
	m.failure, m.doubt = f, true
	return m
}

// waiting tells why the Service waits: an event when the reason changes, and
// the condition.
func waiting(o observed, after time.Duration) plan {
	f := o.memory.failure
	p := plan{do: wait, why: f.message, after: after, awaited: isAwaited(o), memory: o.memory}
	if o.memory.isNews(f.reason, o.now) {
		p.memory.told = notice{f.reason, o.now}
		p.writes.events = []event{callFailed(f)}
	}
	conditions, later := outdated(o, waitingConditions(o)...)
	p = p.showing(conditions, o.now)
	if later > 0 {
		p.after = min(p.after, later)
	}
	return p
}

// isAwaited tells whether somebody waits for the next attempt: for a Service that
// is new, changed or going, and not for ever, or many that fail would keep the
// nodes from all others.
func isAwaited(o observed) bool {
	f := o.memory.failure
	return (f.during == remove || f.of != o.memory.wanted) && o.now.Sub(f.since) < longestRetry
}

// isNews tells whether a reason is recorded: when it changes, and from time to
// time.
func (m memory) isNews(reason string, now time.Time) bool {
	return m.told.reason != reason || now.Sub(m.told.at) >= tellAgain
}

// waitingConditions are those that a Service shows while it waits, be it for the
// load balancer of its predecessor to go.
func waitingConditions(o observed) []metav1.Condition {
	if o.service == nil {
		return nil
	}
	refused, succeeds := o.memory.failure.refusal, o.service.UID != o.memory.uid
	if succeeds && !o.policy.concerns(o.service) {
		return nil
	}
	if succeeds {
		refused = refusalOfPredecessor(refused)
	}
	conditions := []metav1.Condition{provisioning(refused)}
	if len(o.service.Status.LoadBalancer.Ingress) == 0 && (succeeds || o.memory.status == nil) {
		conditions = append(conditions, notServing(refused))
	}
	return conditions
}

// outdated are those conditions that the Service does not show yet. Another
// reason or message alone is rewritten at most once a minute, and what somebody
// else has undone is put back within the limits of S4: later is when, 0 if none is
// held back.
func outdated(o observed, wanted ...metav1.Condition) (differ []metav1.Condition, later time.Duration) {
	for _, c := range wanted {
		c.LastTransitionTime = metav1.NewTime(o.now)
		shown := conditionOf(o.service, c.Type)
		switch {
		case shown == nil, shown.Status != c.Status:
			if held := o.undoneFor(c); held > 0 {
				later = max(later, held)
				continue
			}
			differ = append(differ, c)
		case shown.Reason == c.Reason && shown.Message == c.Message:
		default:
			if held := o.heldFor(shown); held > 0 {
				later = max(later, held)
				continue
			}
			c.LastTransitionTime = shown.LastTransitionTime
			differ = append(differ, c)
		}
	}
	return differ, later
}

// heldFor is how long the words of a condition stay as they are.
func (o observed) heldFor(shown *metav1.Condition) time.Duration {
	written := shown.LastTransitionTime.Time
	if written.Before(o.memory.worded) {
		written = o.memory.worded
	}
	return min(max(conditionPause-o.now.Sub(written), 0), conditionPause) // The writer's clock may be ahead.
}

// undoneFor is how long a condition is not written once more that was written a
// short time ago and that the Service does not show.
func (o observed) undoneFor(c metav1.Condition) time.Duration {
	if o.memory.uid != o.service.UID || o.memory.stated[c.Type] != c.Status {
		return 0
	}
	return max(repairPause-o.now.Sub(o.memory.worded), 0)
}

// showing is the plan with these conditions, which are kept in mind.
func (p plan) showing(conditions []metav1.Condition, now time.Time) plan {
	p.writes.conditions = conditions
	p.memory = p.memory.stating(conditions, now)
	return p
}

// stating is the memory once these conditions have been written.
func (m memory) stating(conditions []metav1.Condition, now time.Time) memory {
	if len(conditions) == 0 {
		return m
	}
	stated := map[string]metav1.ConditionStatus{}
	maps.Copy(stated, m.stated)
	for _, c := range conditions {
		stated[c.Type] = c.Status
	}
	m.stated, m.worded = stated, now
	return m
}

func conditionOf(service *corev1.Service, kind string) *metav1.Condition {
	for i := range service.Status.Conditions {
		if c := &service.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}

// ownConditions are the types of our conditions that the Service shows.
func ownConditions(service *corev1.Service) []string {
	var own []string
	for _, kind := range []string{ConditionServing, ConditionProvisioning} {
		if conditionOf(service, kind) != nil {
			own = append(own, kind)
		}
	}
	return own
}

// managerOf names who last wrote a field, for whoever has to find out who
// fights us.
func managerOf(service *corev1.Service, field string) string {
	managers := map[string]bool{}
	for _, entry := range service.ManagedFields {
		if entry.FieldsV1 != nil && containsField(entry.FieldsV1.GetRawBytes(), field) {
			managers[entry.Manager] = true
		}
	}
	names := slices.Sorted(maps.Keys(managers))
	if len(names) == 0 {
		return "unknown"
	}
	return joined(names)
}
