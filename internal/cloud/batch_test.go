package cloud

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// How many objects the next three calls may be about, at most 100.
func TestSizeOfABatch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		class class
		want  []int
	}{
		{"GrowsToTheMost", class{}, []int{20, 40, 80}},
		{"IsAtMostTheMost", class{batch: 80}, []int{100, 100, 100}},
		{"ProbeIsAboutOneObject", class{hold: hold{opened: at(0)}}, []int{1, 1, 1}},
		{"ObjectsThatCountEachTakeAShortTime", class{single: true, rate: rate{perSecond: 200}}, []int{10, 10, 10}},
		{"ObjectsThatCountEachWhileTheQuotaIsSmall", class{single: true, rate: rate{perSecond: 1}}, []int{1, 1, 1}},
		{"ObjectsThatCountEachWithoutALimit", class{single: true}, []int{20, 40, 80}},
	} {
		var l limiter
		var got []int
		for range tt.want {
			got = append(got, l.batch(call{class: &tt.class}, 100))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestNodesApart(t *testing.T) {
	for _, tt := range []struct {
		name  string
		do    func(a *apart)
		after time.Duration
		want  bool // whether the first Node is asked about alone
	}{
		{"NoNode", func(*apart) {}, 0, false},
		{"NodeThatWasFound", func(a *apart) { a.add([]*corev1.Node{node("0")}) }, anHour - 1, true},
		{"NodeThatWasFoundAnHourAgo", func(a *apart) { a.add([]*corev1.Node{node("0")}) }, anHour, false},
		{"AllForAMinute", func(a *apart) { a.pause() }, time.Minute - 1, true},
		{"AllAfterAMinute", func(a *apart) { a.pause() }, time.Minute, false},
		{"TooManyAreForgotten", func(a *apart) {
			for n := range maxObjects + 1 {
				a.add([]*corev1.Node{node(strconv.Itoa(n))})
			}
		}, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var a apart
			tt.do(&a)
			time.Sleep(tt.after)
			if got := a.has("uid-0"); got != tt.want {
				t.Errorf("%s: alone: %v, want %v", tt.name, got, tt.want)
			}
		})
	}
}

// If no half of a batch succeeds, none of its Nodes is the reason: after a few calls, each
// Node is asked about alone.
func TestBatchesThatAllFailAreFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &tallying{most: 100, before: func([]*corev1.Node) error { return errors.New("InvalidParameter: batches") }}
		g := gateway(t, vendor{v2: c}, Config{})
		var nodes []*corev1.Node
		for n := range 16 {
			nodes = append(nodes, node(strconv.Itoa(n)))
		}
		g.Instances().Refresh(t.Context(), nodes)
		g.Instances().Refresh(t.Context(), nodes) // without batches
		if c.batches != 1+6 || c.alone != 2*16 {
			t.Errorf("%d batches and %d questions about one Node, want 7 and 32", c.batches, c.alone)
		}
	})
}

// A refused answer about one Node of a batch shows that the cloud counts each Node, but not
// that the quota is used up.
func TestRefusedAnswerInABatchActsOnItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(func(m made) error {
			if m.object == "refused" {
				return httpError(429)
			}
			return nil
		})
		g := gateway(t, vendor{v2: &itemised{outageInstances: outageInstances{o}}}, Config{})
		g.Instances().Refresh(t.Context(), []*corev1.Node{node("a"), node("refused"), node("b")})
		single, limit := g.limiter.isSingle(call{method: batchMethod}), limitOf(g, batchMethod)
		if !single || limit != 0 {
			t.Errorf("counts each Node: %v, rate %v, want true and no limit", single, limit)
		}
	})
}

// What follows from the error of a call about several Nodes.
func TestErrorsOfBatches(t *testing.T) {
	for _, tt := range []struct {
		name        string
		err         *Error
		halves, own bool // halves are asked about, or else the error is that of each Node
	}{
		{"Unreadable", &Error{Kind: Failed}, true, false},
		{"UnreadableWhileCallsAreHeldBack", &Error{Kind: Failed, held: true, RetryAfter: time.Second}, false, true},
		{"Invalid", &Error{Kind: Invalid}, true, false},
		{"Refused", &Error{Kind: Throttled}, false, true},
		{"NotYetAnswered", &Error{Kind: Slow}, false, true},
		{"Canceled", &Error{Kind: Canceled}, false, true},
		{"Denied", &Error{Kind: Denied}, false, false},
		{"Unavailable", &Error{Kind: Unavailable}, false, false},
		{"Hanging", &Error{Kind: TimedOut}, false, false},
		{"Panicked", &Error{Kind: Panicked}, false, false},
		{"NoAnswer", &Error{Kind: NoAnswer}, false, false},
	} {
		if got := isOfOneNode(tt.err); got != tt.halves {
			t.Errorf("%s: halves: %v, want %v", tt.name, got, tt.halves)
		}
		if own := orAlone(tt.err) == error(tt.err); own != tt.own { //nolint:errorlint // it is ours, and not wrapped
			t.Errorf("%s: each Node gets the error: %v, want %v", tt.name, own, tt.own)
		}
	}
}

func TestEachObjectCountsIfTheCloudCountsEach(t *testing.T) {
	for single, want := range map[bool]time.Duration{true: 300 * time.Millisecond, false: 0} {
		synctest.Test(t, func(t *testing.T) {
			var l limiter
			of := class{single: single, rate: rate{perSecond: 10, next: time.Now()}}
			l.counts(call{class: &of}, 4) // The call itself has been counted before.
			if got := time.Until(of.rate.next); got != want {
				t.Errorf("each: %v: the next call begins %v later, want %v", single, got, want)
			}
		})
	}
}
