package node

import (
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// owned adds to a plan the event that a label excludes the Node, or would if
// labels that a kubelet can set were honoured. It is recorded once for each
// label that appears.
func owned(o observed, p plan) plan {
	if p.do == ask {
		return p // The pass decides again, with the same memory.
	}
	excluded, ignored := o.claim.ExcludedBy(o.node), o.claim.Ignored(o.node)
	p.memory.exclusion = excluded + ignored
	switch {
	case p.memory.exclusion == o.memory.exclusion:
	case excluded != "":
		p.events = append([]message.Event{isExcluded(excluded)}, p.events...)
	case ignored != "":
		p.events = append([]message.Event{isNotExcluded(ignored)}, p.events...)
	}
	return p
}
