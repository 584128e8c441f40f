package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
)

// confirms reports whether what a list says of the Node leaves nothing to do, so
// that no question is needed. If the list leaves out something that the Node has, it
// confirms nothing, because what it leaves out may have changed.
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

// differs reports whether what the cloud says of the Node is to be written. A write
// of the condition alone does not count, because it does not mean that something has
// changed in the cloud.
func differs(o observed) bool {
	p := decide(o)
	return p.do == update && (p.addresses != nil || !p.change.empty())
}

// watched is what is known of the watch.
type watched struct {
	works bool
	since time.Time // the watch has missed no change after this time
}

// longer is the factor by which the period of the comparison grows while a watch
// works.
const longer = 6

// comparePeriod returns the period in which all Nodes are compared with the cloud.
// The period is longer if the watch has worked since the last comparison of all Nodes
// began, because then a comparison finds only what the watch has missed.
func comparePeriod(base time.Duration, w watched, compared time.Time) time.Duration {
	if !w.works || compared.Before(w.since) {
		return base
	}
	return longer * base
}

// mayBeMissed reports whether the watch should have named a change that a
// comparison has just found.
func mayBeMissed(w watched, compared, named, now time.Time) bool {
	return w.works && !compared.Before(w.since) && now.Sub(named) > namedFor
}

// namedFor is how long a change that the watch has named may take until the cloud
// shows it.
const namedFor = time.Minute

// wokenLimit bounds how often a Node is asked about, or gets a pass, because the watch
// has named its instance. A watch that repeats itself must not use up the quota of the cloud.
var wokenLimit = allowance.Limit{Burst: 6, Every: time.Minute, Least: time.Second}

// askedAgainAfter is the time until the cloud is asked once more about a Node that the
// watch has named, if the first answer showed no change. A cloud's answers may lag
// behind its watch.
const askedAgainAfter = 10 * time.Second
