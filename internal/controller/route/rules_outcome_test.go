package route

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// outcomeRows returns the test rows for jobs that have failed.
func outcomeRows() []row {
	return []row{
		{"FailedJobWaits", given(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 990, 998, 1001)), nil},
		{"FailedJobNeedsAListing", given(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 990, 999.5, 1000)), []string{"list: a change of the routes has failed since they were listed"}},
		{"FailedJobIsTriedAgain", given(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 990, 998, 1000)), []string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"}},
		{"FailureOfAnotherNodeDoesNotCount", given(1, unlisted("r1"), failing("10.244.1.0/24", "uid-9", 990, 998, 1001)), []string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"}},
		{"FailureDelaysNoOtherCIDR", given(2, unlisted("r1"), unlisted("r2"), failing("10.244.1.0/24", "uid-1", 990, 998, 1001)), []string{"create 10.244.2.0/24 for node-2: there is no route for its CIDR"}},
	}
}

func TestOutcome(t *testing.T) { check(t, outcomeRows()) }

func TestBackoffOfFailures(t *testing.T) {
	var f failure
	var pauses []time.Duration
	now := at(0)
	for range 8 {
		f = f.next(now, failure{kind: "Failed", node: "a"})
		pauses = append(pauses, f.until.Sub(now))
		now = f.until
	}
	const s = time.Second
	want := []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if f.since != at(0) || f.count != 8 {
		t.Errorf("since %v, %d times", f.since, f.count)
	}
	if f = f.next(now, failure{kind: "Failed", node: "b"}); f.count != 1 || f.since != now {
		t.Errorf("%+v, want another Node's to begin anew", f)
	}
	if f = f.next(now, failure{kind: "Throttled", node: "b", pause: time.Hour}); f.until != now.Add(time.Hour) {
		t.Errorf("%+v, want the pause that the cloud asked for", f)
	}
	f = failure{count: 30, kind: kindBlackhole, node: "b"}
	if f = f.next(now, failure{kind: kindBlackhole, node: "b"}); f.until != now.Add(maxBlackholeBackoff) {
		t.Errorf("%+v, want the longest pause", f)
	}
}

func TestFinishedJobs(t *testing.T) {
	one := netip.MustParsePrefix("10.244.1.0/24")
	own := removal{route: newRoute("r1", "node-1", "10.244.1.0/24")}
	other := own
	other.unclaimed = true
	create, replace := &creation{node: newNode(1)}, &creation{node: newNode(1), replacesBlackhole: true}
	refused := &failure{kind: "Failed", text: "quota"}
	for _, tt := range []struct {
		name    string
		job     job
		result  result
		created bool   // the memory has the route as created
		failure string // its kind
		event   string
	}{
		{"CreatedRouteCountsAsThere", job{create: create}, result{}, true, "", ""},
		{"FailedCreationIsRecorded", job{create: create}, result{failed: refused}, true, "Failed", "Could not create route uid-1 10.244.1.0/24 for node node-1 after 2s: quota"},
		{"FailedRemovalWithoutCreationIsNotRecorded", job{}, result{failed: refused}, true, "Failed", ""},
		{"NewRouteForABlackholeIsInDoubt", job{create: replace}, result{}, true, kindBlackhole, ""},
		{"RemovalOfTheNodesRouteIsBelieved", job{create: create}, result{removed: []removal{own}, failed: refused}, false, "Failed", "Could not create route uid-1 10.244.1.0/24 for node node-1 after 2s: quota"},
		{"RemovedAndCreatedRouteCountsAsThere", job{create: create}, result{removed: []removal{own}}, true, "", ""},
		{"RemovalOfAnotherRouteChangesNothing", job{create: create}, result{removed: []removal{other}, failed: refused}, true, "Failed", "Could not create route uid-1 10.244.1.0/24 for node node-1 after 2s: quota"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemory()
			m.created[claim{one, "uid-1"}] = at(1)
			m.pending[one] = pendingJob{since: at(1)}
			m.recorded[claim{one, "uid-1"}] = showing.News{"Denied": at(1)}
			tt.job.cidr, tt.result.took = one, 2*time.Second
			event := ""
			if e := tt.result.event(tt.job); e != nil {
				event = e.event.Message
				if !m.record(*e, at(2)) {
					t.Error("the event counts as recorded")
				}
				if m.record(*e, at(3)) || m.record(nodeEvent{node: e.node, cidr: e.cidr, kind: "Denied"}, at(3)) {
					t.Error("the event does not count as recorded, or errors that alternate are recorded again")
				}
			}
			m.finish(tt.job, tt.result, at(2))
			if event != tt.event {
				t.Errorf("event %q, want %q", event, tt.event)
			}
			if _, created := m.created[claim{one, "uid-1"}]; created != tt.created {
				t.Errorf("counts as there: %v, want %v", created, tt.created)
			}
			for _, r := range tt.result.removed {
				if m.removed[r.route.identity] != at(2) {
					t.Error("the removal is not remembered")
				}
			}
			if _, pending := m.pending[one]; pending {
				t.Error("the job is still pending")
			}
			f := m.failures[one]
			if f.kind != tt.failure || f.count > 0 && (f.took != 2*time.Second || f.at != at(2)) {
				t.Errorf("failure %+v, want kind %q", f, tt.failure)
			}
			if _, recorded := m.recorded[claim{one, "uid-1"}]; recorded != (tt.failure != "") {
				t.Errorf("recorded: %v, want it to be forgotten with the failure", recorded)
			}
		})
	}
}

// Two Nodes can claim one CIDR. The event on one Node does not cause a second event
// on the other Node.
func TestEventsOfTwoClaimantsAreRecordedOnce(t *testing.T) {
	p := decide(given(2, podCIDRs("node-1", "0.0.0.0/0"), podCIDRs("node-2", "0.0.0.0/0"), node("node-1", noCondition), node("node-2", noCondition)))
	if len(p.events) != 2 {
		t.Fatalf("%d events, want one on each Node", len(p.events))
	}
	m := newMemory()
	for _, e := range p.events {
		m.record(e, at(1))
	}
	for _, e := range p.events {
		if m.record(e, at(2)) {
			t.Errorf("the event of %s is recorded again", e.node.Name)
		}
	}
	m.nodeDeleted(p.events[0].node, at(1))
	if !m.record(p.events[0], at(2)) || m.record(p.events[1], at(2)) {
		t.Error("what was recorded of a deleted Node, and only that, is to be forgotten")
	}
}
