package route

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	minBackoff = time.Second
	maxBackoff = time.Minute
	// maxBlackholeBackoff bounds the pause between two attempts to replace a
	// blackhole. If the instance is stopped, the new route is a blackhole, too.
	maxBlackholeBackoff = 5 * time.Minute
)

// kindBlackhole is the kind of a failure in which the route exists but leads nowhere.
const kindBlackhole = "Blackhole"

// kindRejected is the kind of an event about a CIDR that gets no route.
const kindRejected = "Rejected"

// kindUnwritten is the kind of an event about a condition that could not be
// written.
const kindUnwritten = "Unwritten"

// failure says why a call has failed, and when the call is retried. The zero value
// means that no call has failed.
type failure struct {
	count     int
	since, at time.Time // of the first and the last failed attempt
	until     time.Time // when it is tried again
	took      time.Duration
	kind      string        // from a closed set: the kind of the cloud's error, or kindBlackhole
	text      string        // the cloud's own words
	node      types.UID     // the Node for which the route should have been created; empty if there is none
	pause     time.Duration // the pause that the cloud has asked for; 0: none
}

// next returns the failure to remember after another attempt has failed. If f is about
// the same Node, the new failure keeps the start of f, and counts on from the count of
// f.
func (f failure) next(now time.Time, latest failure) failure {
	latest.since = now
	if f.count > 0 && f.node == latest.node {
		latest.since, latest.count = f.since, f.count
	}
	latest.at, latest.until = now, now.Add(latest.backoff())
	latest.count++
	return latest
}

// backoff returns the pause before the next attempt. The pause doubles with each
// attempt, unless the cloud asks for a certain pause.
func (f failure) backoff() time.Duration {
	if f.pause > 0 {
		return f.pause
	}
	longest := maxBackoff
	if f.isBlackhole() {
		longest = maxBlackholeBackoff
	}
	if f.count >= 16 { // A larger shift could overflow.
		return longest
	}
	return min(minBackoff<<f.count, longest)
}

// concerns reports whether the failure is about the route of the owner. A nil owner
// stands for a job that had no route to create.
func (f failure) concerns(owner *corev1.Node) bool {
	return owner == nil && f.node == "" || owner != nil && f.node == owner.UID
}

func (f failure) isBlackhole() bool { return f.kind == kindBlackhole }

// result is the result of the calls of a job.
type result struct {
	removed []removal
	took    time.Duration // of the last call
	failed  *failure      // why the last call has failed; nil if all calls have succeeded
}

// failure returns the failure for which the job has to be tried again, or nil if the
// job is done. A creation that replaces a blackhole counts as failed until a listing
// shows that the new route works.
func (r result) failure(j job) *failure {
	switch {
	case r.failed != nil:
		f := *r.failed
		f.took = r.took
		if j.create != nil {
			f.node = j.create.node.UID
		}
		return &f
	case j.create != nil && j.create.replacesBlackhole:
		return &failure{kind: kindBlackhole, text: "the route leads nowhere", node: j.create.node.UID, took: r.took}
	default:
		return nil
	}
}

// event returns the event on the Node whose route could not be created, or nil if
// there is none. A blackhole causes no event, because the condition shows it.
func (r result) event(j job) *nodeEvent {
	if r.failed == nil || j.create == nil {
		return nil
	}
	e := createFailed(j.create.node, j.cidr, *r.failure(j))
	return &e
}

// finish stores the result of a job in the memory. If the job has removed routes and
// then failed, these removals are stored, too.
func (m *memory) finish(j job, r result, now time.Time) {
	delete(m.pending, j.cidr)
	for _, gone := range r.removed {
		m.removed[gone.route.identity] = now
		if !gone.unclaimed { // The removed route may be the one that this process has created.
			deleteCIDR(m.created, j.cidr)
		}
	}
	if failed := r.failure(j); failed != nil {
		m.failures[j.cidr] = m.failures[j.cidr].next(now, *failed)
		return
	}
	deleteCIDR(m.recorded, j.cidr) // The next failure is recorded as an event again.
	if j.create != nil {
		m.created[claim{j.cidr, j.create.node.UID}] = now
	}
}

// record reports whether an event of this Node is new (see package showing). If it is, it
// counts as recorded.
func (m *memory) record(e nodeEvent, now time.Time) (isNew bool) {
	of := claim{e.cidr, e.node.UID}
	if isNew = m.recorded[of].IsNew(e.kind, now); isNew {
		m.recorded[of] = m.recorded[of].With(e.kind, now)
	}
	return isNew
}
