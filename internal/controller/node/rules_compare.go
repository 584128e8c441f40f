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
	if saysLess(o) || o.memory.withoutIP > 0 || o.memory.absences > 0 {
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
	return len(i.addresses) == 0 || isTaken(o.node.Status.Addresses, changedAddresses(o)) ||
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

// share is the part of a round that a step has done.
type share struct {
	nodes, all int  // the Nodes that this step was the first to deal with, and all Nodes
	cached     bool // the answer has cost nothing
}

// idle is the longest pause while there are no Nodes to compare.
const idle = 5 * time.Second

// pause returns the time from the beginning of a step to the next step of the same
// round. Each step takes its share of the period, so the calls are spread evenly. But
// after an answer that has cost nothing, the next step is due at once. A page of a list
// might name no Node that was not named before. All such pages of a round together take
// at most half a period.
func (s share) pause(period time.Duration) time.Duration {
	switch {
	case s.cached:
		return 0
	case s.all == 0:
		return min(period, idle)
	case s.nodes == 0:
		return period / time.Duration(2*mostPages(s.all))
	default:
		return period / time.Duration(s.all) * time.Duration(s.nodes)
	}
}

// cachedWithin is the time within which a provider answers from its own cache. A call
// over the network takes longer.
const cachedWithin = 2 * time.Millisecond

// costNothing reports whether answers came from the provider's own cache. Many
// providers keep a list of all instances for some seconds. If the questions come at
// once, the provider fetches its list only once for all of them. A failure can be as
// fast as a cache, so it counts as a call.
func costNothing(took time.Duration, failures int) bool {
	return failures == 0 && took < cachedWithin
}

// mostPages returns the number of pages that a list with so many Nodes can have. A list
// can also have instances without Nodes. But if it has even more pages, it might never
// end, and questions about the Nodes cost fewer calls.
func mostPages(nodes int) int { return 2*nodes + 10 }

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
