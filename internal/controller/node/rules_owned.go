package node

import (
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// owned adds the events about the owner of the Node to a plan. Each event is recorded
// once while its cause lasts.
func owned(o observed, p plan) plan {
	if p.do == ask {
		return p // The pass decides again, with the same memory.
	}
	var event message.Event
	p.memory.said, event = aboutOwner(o)
	if p.memory.said != "" && p.memory.said != o.memory.said {
		p.events = append([]message.Event{event}, p.events...)
	}
	if isLeftWaiting(o) && p.memory.said == "" {
		p.after = showing.After - o.now.Sub(o.node.CreationTimestamp.Time)
	}
	return p
}

// aboutOwner returns the event about the owner of the Node, and a key that identifies
// the event. The key is empty if no event is due.
func aboutOwner(o observed) (key string, event message.Event) {
	why, disowned := o.claim.Disowns(o.node)
	label, ignored := o.claim.Label(o.node), o.claim.Ignored(o.node)
	switch {
	case label != "":
		return label, isExcluded(why)
	case ignored != "":
		return ignored, isNotExcluded(ignored)
	case disowned && isLeftWaiting(o) && o.now.Sub(o.node.CreationTimestamp.Time) >= showing.After:
		return foreignNode.Name, isForeign(why)
	default:
		return "", message.Event{}
	}
}

// isLeftWaiting reports whether the Node waits to be initialised, but does not belong
// to this daemon. If no label disowns the Node, an event reports this after a minute.
// Until then, another manager might initialise the Node.
func isLeftWaiting(o observed) bool {
	_, disowned := o.claim.Disowns(o.node)
	return disowned && o.node.DeletionTimestamp == nil && nodefact.IsUninitialized(o.node)
}
