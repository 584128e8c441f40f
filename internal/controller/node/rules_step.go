package node

import (
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// follow returns the plan that keeps an initialised Node up to date. Without an answer
// of the cloud, it uses only the fields of the Node itself.
func follow(o observed) plan {
	if !o.unwritten.IsZero() {
		return refusedUpdate(o)
	}
	p := plan{do: doNothing, why: "up to date", memory: o.memory.afterWait()}
	p.memory.notices, p.memory.missing = o.memory.notices, o.memory.missing
	p.memory.absences, p.memory.absentSince, p.memory.unfound = o.memory.absences, o.memory.absentSince, o.memory.unfound
	p.memory.withoutIP, p.memory.withoutIPSince = o.memory.withoutIP, o.memory.withoutIPSince
	endOfWait(o, &p)
	followTwins(o, &p)
	if o.answer.given == described {
		p.memory.withoutIP, p.memory.withoutIPSince = 0, time.Time{}
		followInstance(o, &p)
	}
	followPresence(o, &p)
	if p.addresses != nil || p.condition != nil || p.without != "" || !p.change.empty() {
		p.do, p.why = update, difference(p)
	}
	return p
}

// followTwins adds the labels that have to be written because of their twins. A kubelet
// could change either of the two again and again, so they are rarely written.
func followTwins(o observed, p *plan) {
	p.change.labels = twinLabels(o.node.Labels)
	if len(p.change.labels) == 0 {
		return
	}
	pause := o.memory.twinsAt.Add(showing.PutBackAfter).Sub(o.now)
	if pause <= 0 {
		p.memory.twinsAt = o.now
		return
	}
	clear(p.change.labels)
	if p.after == 0 || pause < p.after {
		p.after = pause
	}
}

// refusedUpdate returns the plan for a Node whose update could not be written. The plan
// records an event and tries again. The event is not repeated while updates fail for
// the same reason, even if the text of the error changes.
func refusedUpdate(o observed) plan {
	p := plan{do: wait, why: o.unwritten.Message, memory: o.memory}
	if kept := updateFailed.Name + ": " + o.unwritten.Reason; o.memory.notices != kept {
		p.events, p.memory.notices = []message.Event{hasFailedUpdate(o.unwritten)}, kept
	}
	return p
}

// followInstance adds to the plan the writes and the events that follow from the
// cloud's answer. A change of zone or region is only reported, because volumes and pods
// were placed by these labels.
func followInstance(o observed, p *plan) {
	i := o.answer.instance
	var notices []message.Event
	switch {
	case isOther(o):
		notices = append(notices, hasMismatch(*otherInstance(o)))
	default:
		followAddresses(o, p)
		if isKnown(o.node, i) {
			followLabels(o, p)
		}
		notices = noticesOf(o)
		if p.memory.withoutIP > 1 && p.addresses == nil { // One answer is no news: a cloud might leave out the addresses now and then.
			notices = append(notices, hasKeptLastIP())
		}
	}
	p.events, p.memory.notices = newNotices(notices, o.memory.notices)
}

// isOther reports whether the cloud describes an instance that is not the Node's. The
// provider was asked with the Node's own provider ID. If it answers with a different
// one, that is usually only another spelling. The Node keeps its own ID, because a
// provider ID can never be changed. The instance counts as another one only if another
// Node has its provider ID, or if strictIDs is set.
func isOther(o observed) bool {
	own, theirs := o.node.Spec.ProviderID, o.answer.instance.providerID
	return own != "" && theirs != "" && own != theirs && (o.holder != "" || o.strictIDs)
}

// isKnown reports whether it is known that the Node runs on this instance. A Node that
// registered without the taint gets no provider ID from this controller. Without a
// provider ID, it gets no labels from the cloud either, as with upstream.
func isKnown(node *corev1.Node, i instance) bool {
	return node.Spec.ProviderID != "" || i.nameless
}

func followLabels(o observed, p *plan) {
	i := o.answer.instance
	if o.policy.Type && !isInvalidLabel("name", i.size) {
		// Both keys get the value that the cloud names. The value of the old key does
		// not count.
		delete(p.change.labels, corev1.LabelInstanceTypeStable)
		maps.Copy(p.change.labels, differing(o.node.Labels, sizeLabels(i)))
		if i.size == "" {
			maps.Copy(p.change.labels, twinLabels(o.node.Labels))
		}
	}
	if o.policy.Additional {
		followAdditional(o, p)
	}
}

// followAdditional sets and changes the provider's own labels. It removes a label only
// if the policy says so and enough answers have left the label out.
func followAdditional(o observed, p *plan) {
	labels, record := additionalLabels(o.node, o.answer.instance.labels, o.policy)
	p.memory.missing = missingLabels(o)
	for key, answers := range p.memory.missing {
		if answers >= removeAfter {
			labels[key] = nil
			delete(record, key)
		}
	}
	maps.Copy(p.change.labels, labels)
	p.change.annotations = recordOf(record, o.node)
}

// noticesOf returns the events about data of the cloud that this controller
// does not write.
func noticesOf(o observed) []message.Event {
	var notices []message.Event
	i := o.answer.instance
	for _, place := range []struct{ what, key, now string }{
		{"zone", corev1.LabelTopologyZone, i.zone},
		{"region", corev1.LabelTopologyRegion, i.region},
	} {
		if label, ok := o.node.Labels[place.key]; ok && place.now != "" && label != place.now {
			notices = append(notices, hasMoved(place.what, label, place.now))
		}
	}
	if o.twin != "" {
		notices = append(notices, isShared(sharedInstance(o)))
	}
	for _, unmet := range []func(observed) *message.Cause{addressesAreUsable, addressIsOffered} {
		if cause := unmet(o); cause != nil {
			notices = append(notices, hasKeptAddresses(*cause))
		}
	}
	if problems := invalidLabels(i); len(problems) > 0 {
		notices = append(notices, hasSkippedLabels(problems))
	}
	return append(notices, truncationsOf(i)...)
}

// truncationsOf returns the event that part of the instance's description is not read. It
// returns nothing if all of it is read.
func truncationsOf(i instance) []message.Event {
	if !i.moreAddresses && !i.moreLabels {
		return nil
	}
	return []message.Event{isTruncated(i)}
}

// newNotices returns the notices if they differ from those that were recorded last. It
// also returns the text to keep in the memory.
func newNotices(notices []message.Event, recorded string) ([]message.Event, string) {
	var messages []string
	for _, notice := range notices {
		messages = append(messages, notice.Message)
	}
	now := strings.Join(messages, "\n")
	if now == recorded {
		return nil, now
	}
	return notices, now
}

// difference says in words which parts of the Node an update writes.
func difference(p plan) string {
	var parts []string
	for _, part := range []struct {
		what    string
		differs bool
	}{
		{"addresses", p.addresses != nil},
		{"labels", len(p.change.labels)+len(p.change.annotations) > 0},
		{"condition", p.condition != nil || p.without != ""},
	} {
		if part.differs {
			parts = append(parts, part.what)
		}
	}
	return strings.Join(parts, " and ") + " differ from the cloud's"
}
