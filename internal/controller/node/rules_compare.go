package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
)

// confirms reports whether a list shows that the Node is up to date. Then no question
// about the Node is needed. If the list leaves out a fact that the Node shows, it does
// not confirm the Node, because this fact might have changed.
func confirms(o observed) bool {
	if saysLess(o) {
		return false
	}
	p := decide(o)
	return p.do == doNothing && len(p.events) == 0
}

// saysLess reports whether a list leaves out something that the Node has.
func saysLess(o observed) bool {
	i, has := o.answer.instance, o.node.Labels
	for key := range followed(o.node) {
		if _, named := i.labels[key]; !named {
			return true
		}
	}
	return len(i.addresses) == 0 ||
		i.size == "" && has[corev1.LabelInstanceTypeStable] != "" ||
		i.zone == "" && has[corev1.LabelTopologyZone] != "" ||
		i.region == "" && has[corev1.LabelTopologyRegion] != ""
}

// differs reports whether the cloud's answer requires a write to the Node. A write of
// only the condition does not count, because it does not mean that something has
// changed in the cloud.
func differs(o observed) bool {
	p := decide(o)
	return p.do == update && (p.addresses != nil || !p.change.empty())
}

// watched is the state of the watch.
type watched struct {
	works bool
	since time.Time // the watch has missed no change after this time
}

// longer is the factor by which the period of the comparison grows while a watch
// works.
const longer = 6

// comparePeriod returns the period in which all Nodes are compared with the cloud. The
// period is longer if the watch works, and has worked ever since the last complete
// comparison began. A comparison is then needed only to find changes that the watch has
// failed to name.
func comparePeriod(base time.Duration, w watched, compared time.Time) time.Duration {
	if !w.works || compared.Before(w.since) {
		return base
	}
	return longer * base
}

// mayBeMissed reports whether the watch might have missed a change that a comparison
// has just found.
func mayBeMissed(w watched, compared, named, now time.Time) bool {
	return w.works && !compared.Before(w.since) && now.Sub(named) > namedFor
}

// namedFor is the time for which a Node counts as named by the watch. If a comparison
// finds a change of the Node within this time, the watch has not missed the change.
const namedFor = time.Minute

// wokenLimit bounds the questions and the passes that the watch causes for one Node. A
// watch that repeats itself must not use up the quota of the cloud.
var wokenLimit = allowance.Limit{Burst: 6, Every: time.Minute, Least: time.Second}

// askedAgainAfter is the time between the first and the second question about a Node
// that the watch has named. The second question is asked only if the first answer
// showed no change, because a cloud's answers can lag behind its watch.
const askedAgainAfter = 10 * time.Second
