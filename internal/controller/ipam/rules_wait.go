package ipam

import (
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

const (
	// behind is the pause after a pass that has found the cache to be behind the API
	// server. A pass also begins as soon as the change reaches the cache.
	behind = 30 * time.Second
	// quiet is the time for which a Node waits before an event reports that other
	// Nodes have to be fenced first, or that another allocator is at work.
	quiet = 30 * time.Second
)

// holds returns the plan for a Node that gets no CIDRs now. The event is recorded if
// it is news (see package showing). An event about the
// fence or another allocator is not recorded during the first seconds of the wait (see
// quiet).
func holds(o observed, event message.Event) plan {
	p := plan{do: wait, why: event.Message, reason: event.Reason, memory: o.memory}
	p.memory.reason = event.Reason
	if event.Reason == reasonFencing.Name || event.Reason == reasonRival.Name {
		if left := quiet - o.now.Sub(o.entry.without); left > 0 {
			p.after = left
			return p
		}
	}
	if p.memory.told.IsNew(event.Reason, o.now) {
		p.memory.told = p.memory.told.With(event.Reason, o.now)
		p.event = &event
	}
	return p
}

// awaitsOthers returns the plan for a Node that has to wait because another allocator
// might be at work. If one is at work, an event reports it.
func awaitsOthers(o observed, after time.Duration) plan {
	if o.others.atWork() {
		p := holds(o, isRival(*o.others.last()))
		if p.after == 0 {
			p.after = after
		}
		return p
	}
	p := plan{do: wait, why: "another allocator may be at work", reason: waitsForOthers, after: after, memory: o.memory}
	p.memory.reason = waitsForOthers
	return p
}

// failed returns the plan after a write that has failed.
func failed(o observed, event message.Event) plan {
	p := holds(o, event)
	p.retry = true
	return p
}

// stale returns the plan after a write that was refused because the Node has changed
// since it was observed.
func stale(o observed) plan {
	return plan{do: wait, why: "the Node has changed", reason: o.memory.reason, memory: o.memory, retry: true}
}
