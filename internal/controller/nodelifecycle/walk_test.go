package nodelifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// turn says what happens in one step of the test.
type turn string

// Some turns set the cloud's answers in the step: about the Node, about its witness, or
// both. The others change the Node or the controller before the step.
const (
	isAbsent        turn = "absent"
	isPresent       turn = "present"
	isUnknown       turn = "error"
	witnessFails    turn = "absent, witness fails"
	witnessDenied   turn = "absent, witness denied"
	reportsNow      turn = "Ready, then silent"
	isNew           turn = "new UID"
	isOtherInstance turn = "new provider ID"
	overTheBudget   turn = "absent, over the budget"
	leaderDies      turn = "new leader"
)

var turns = []turn{isAbsent, isPresent, isUnknown, witnessFails, witnessDenied, reportsNow, isNew, isOtherInstance, overTheBudget, leaderDies}

// trail has what the test itself has observed since the evidence about the Node was
// last reset.
type trail struct {
	absences   []time.Time
	lastWord   time.Time // the last time at which the cloud called the Node absent
	confirmed  time.Time // the last time at which the cloud called the witness present
	overBudget bool
	denied     bool
}

// removalWorld is the state of the test: one Node, its witness and a few other Nodes.
type removalWorld struct {
	now      time.Time
	node     *corev1.Node
	memory   memory
	recorded record
	known    map[string]bool
	trail    trail
	path     []turn
	removed  bool
}

func newRemovalWorld() *removalWorld {
	return &removalWorld{now: noon, node: old("n1"), known: map[string]bool{}}
}

func (w *removalWorld) clone() *removalWorld {
	c := *w
	c.node = w.node.DeepCopy()
	c.trail.absences = slices.Clone(w.trail.absences)
	c.path = slices.Clone(w.path)
	c.known = maps.Clone(w.known)
	return &c
}

// happens makes the changes that come before the step.
func (w *removalWorld) happens(t turn) {
	switch t {
	case reportsNow:
		w.node.Status.Conditions[0].Status = corev1.ConditionTrue
		w.memory = w.decide(answer{}, nil).memory
		w.node.Status.Conditions[0].Status = corev1.ConditionUnknown
		w.trail = trail{denied: w.trail.denied}
	case isNew:
		w.node.UID += "x"
		w.trail = trail{denied: w.trail.denied}
	case isOtherInstance:
		w.node.Spec.ProviderID += "x"
		w.trail = trail{denied: w.trail.denied}
	case isAbsent, isPresent, isUnknown, witnessFails, witnessDenied, overTheBudget: // the step itself makes the cloud's answers
	case leaderDies:
		w.memory, w.recorded, w.known = memory{}, record{}, map[string]bool{}
		w.trail = trail{}
	}
	w.trail.overBudget = t == overTheBudget
}

// otherNodes has two lists of the other Nodes of the cluster. In the list with the key
// true, more Nodes are absent than the budget allows. The lists are short, because each
// decision counts all Nodes.
var otherNodes = map[bool][]other{false: othersOf(0), true: othersOf(5)}

// othersOf returns a Node of another cloud, and the given number of absent Nodes.
func othersOf(absentOnes int) []other {
	nodes := []other{{node: old("m", reports, providerID("q://1")), checked: true}}
	for i := range absentOnes {
		nodes = append(nodes, other{node: old(fmt.Sprintf("m%d", i)), presence: absent, checked: true})
	}
	return nodes
}

func (w *removalWorld) peers() cluster {
	nodes := append(slices.Clip(otherNodes[w.trail.overBudget]),
		other{node: w.node, presence: w.memory.evidence.presence, checked: true}, other{node: old("w1", reports), checked: true, record: w.recorded})
	return cluster{nodes: nodes, confirmed: w.known}
}

// decide returns the plan for the Node. Like the controller, it looks at other Nodes
// only if the decision needs them.
func (w *removalWorld) decide(a answer, c *check) plan {
	o := observed{now: w.now, node: w.node, answer: a, memory: w.memory, limits: DefaultLimits()}
	if c != nil || o.needsPeers() {
		o = w.peers().seenBy(o, c != nil)
	}
	if c == nil {
		return decideSuspicion(o)
	}
	return decideDeletion(o, *c)
}

// answer returns the cloud's answer about the Node. The question takes a second.
func (w *removalWorld) answer(t turn) answer {
	a := answer{asked: w.now}
	w.now = w.now.Add(time.Second)
	switch t {
	case isPresent:
		a.presence = present
		w.trail = trail{denied: w.trail.denied, overBudget: w.trail.overBudget}
	case isUnknown:
		a.failure = message.Cause{Reason: "CloudDenied", Message: "because"}
	case isAbsent, witnessFails, witnessDenied, reportsNow, isNew, isOtherInstance, overTheBudget, leaderDies:
		a.presence = absent
		w.trail.absences = append(w.trail.absences, w.now)
		w.trail.lastWord = w.now
	}
	return a
}

// hear records the cloud's answer about the witness. The question takes a second.
func (w *removalWorld) hear(t turn) {
	a := answer{asked: w.now}
	w.now = w.now.Add(time.Second)
	switch t {
	case witnessFails, isUnknown:
		a.failure = message.Cause{Reason: "CloudDenied", Message: "because"}
	case witnessDenied:
		a.presence = absent
		w.trail.denied = true
	case isAbsent, isPresent, reportsNow, isNew, isOtherInstance, overTheBudget, leaderDies:
		a.presence = present
		w.trail.confirmed, w.trail.denied = a.asked, false
		w.known["p"] = true
	}
	w.recorded = w.recorded.with(a, w.now)
}

// step makes one pass, as the controller does. If the pass asks for a final check, step
// makes that, too.
func (w *removalWorld) step(t *testing.T, what turn) {
	t.Helper()
	w.path = append(w.path, what)
	w.happens(what)
	p := w.decide(answer{}, nil)
	if p.do == ask {
		p = w.decide(w.answer(what), nil)
	}
	w.memory = p.memory
	if p.do == enqueueDeletion {
		p = w.last(t, what)
	}
	if w.removed {
		return
	}
	if p.do == hold && (p.why == "" || p.memory.holding.reason == "") {
		t.Errorf("%v: held without a why", w.path)
	}
	if p.after <= 0 {
		t.Fatalf("%v: the silent Node is never decided on again after %v", w.path, p.do)
	}
	w.now = w.now.Add(p.after)
}

func (w *removalWorld) last(t *testing.T, what turn) plan {
	t.Helper()
	done := &check{}
	var a answer
	for range 50 {
		p := w.decide(a, done)
		a = answer{}
		switch p.do {
		case ask:
			done.asked = true
			a = w.answer(what)
			continue
		case askAgain:
			done.again, w.memory = true, p.memory
			a = w.answer(what)
			continue
		case askWitness:
			done.questions++
			w.memory = p.memory
			w.hear(what)
			continue
		case remove:
			w.removed = true
			w.mayRemove(t)
		case doNothing, hold, enqueueDeletion:
		}
		w.memory = p.memory
		return p
	}
	t.Fatalf("%v: the final check does not end", w.path)
	return plan{}
}

// mayRemove checks that a deletion keeps promise S1. It does not use the code of the
// rules.
func (w *removalWorld) mayRemove(t *testing.T) {
	t.Helper()
	tr := w.trail
	switch {
	case w.node.Status.Conditions[0].Status == corev1.ConditionTrue:
		t.Errorf("%v: removed while the kubelet reports", w.path)
	case len(tr.absences) < DefaultLimits().Absences+2:
		t.Errorf("%v: removed after %d absences, the final check included", w.path, len(tr.absences))
	case tr.lastWord.Sub(tr.absences[0]) < DefaultLimits().AbsentFor:
		t.Errorf("%v: removed after %v", w.path, tr.lastWord.Sub(tr.absences[0]))
	case tr.confirmed.Before(tr.absences[len(tr.absences)-2]) || !tr.confirmed.Before(tr.lastWord):
		t.Errorf("%v: removed without a witness between the last two absences", w.path)
	case tr.denied:
		t.Errorf("%v: removed while the cloud denies a Node that reports", w.path)
	case tr.overBudget && tr.lastWord.Sub(tr.absences[0]) < DefaultLimits().OverBudgetAfter:
		t.Errorf("%v: removed over the budget after %v", w.path, tr.lastWord.Sub(tr.absences[0]))
	}
}

// state is what the next turns depend on. Worlds with the same state have the same future,
// so the search follows only one of them. Times are relative to now.
type state struct {
	evidence struct {
		presence                                      presence
		absences, checks                              int
		from, since, asked, answered, checkedAt, next time.Duration
		failed                                        bool
	}
	reason               string
	firstsAt, firstsFull time.Duration
	witness              struct {
		presence                    presence
		asked, tried, since         time.Duration
		failed, confirmed, recalled bool
	}
	trail struct {
		absences                         int
		first, oneButLast, last, witness time.Duration
		overBudget, denied               bool
	}
}

// state returns the state of the world. Counts and times beyond all limits are equal.
func (w *removalWorld) state() state {
	ago := func(t time.Time) time.Duration {
		if t.IsZero() {
			return -1 << 60
		}
		return min(w.now.Sub(t), 2*time.Hour)
	}
	var s state
	m := w.memory.of(w.node)
	e, firsts := &s.evidence, m.firsts
	e.presence, e.absences, e.checks, e.failed = m.evidence.presence, min(m.evidence.absences, 10), min(m.evidence.checks, 20), !m.evidence.failure.IsZero()
	e.from, e.since, e.asked, e.answered = ago(m.evidence.from), ago(m.evidence.since), ago(m.evidence.asked), ago(m.evidence.answered)
	e.checkedAt, e.next = ago(m.evidence.checkedAt), max(m.nextCheck.Sub(w.now), 0)
	s.reason = m.holding.reason
	s.firstsAt = max(firsts.Next(firstLimit).Sub(w.now), 0)
	s.firstsFull = max(firsts.Used(firstLimit, w.now).Next(firstLimit).Sub(w.now), 0)
	s.witness.presence, s.witness.failed, s.witness.confirmed, s.witness.recalled = w.recorded.presence, w.recorded.failed, w.recorded.confirmed, w.known["p"]
	s.witness.asked, s.witness.tried, s.witness.since = ago(w.recorded.asked), ago(w.recorded.tried), ago(w.recorded.since)
	if n := len(w.trail.absences); n > 0 {
		s.trail.absences, s.trail.first, s.trail.oneButLast = min(n, 10), ago(w.trail.absences[0]), ago(w.trail.absences[max(n-2, 0)])
	}
	s.trail.last, s.trail.witness = ago(w.trail.lastWord), ago(w.trail.confirmed)
	s.trail.overBudget, s.trail.denied = w.trail.overBudget, w.trail.denied
	return s
}

// TestRemovalWalk searches all states that twelve turns reach, or eight with -short, and
// checks that each deletion keeps promise S1. In each state that eight turns reach, the
// cloud then keeps calling the Node absent, and the Node must be deleted.
func TestRemovalWalk(t *testing.T) {
	const short, long = 8, 12
	depth := long
	if testing.Short() {
		depth = short
	}
	seen, deletions := map[state]bool{}, 0
	level := []*removalWorld{newRemovalWorld()}
	for n := range depth {
		var next []*removalWorld
		for _, w := range level {
			for _, what := range turns {
				c := w.clone()
				c.step(t, what)
				switch s := c.state(); {
				case t.Failed():
					return
				case c.removed:
					deletions++
				case !seen[s]:
					seen[s] = true
					next = append(next, c)
					if n < short {
						c.clone().ends(t)
					}
				}
			}
		}
		t.Logf("%d turns reach %d new states, %d deletions", n+1, len(next), deletions)
		level = next
	}
	if len(seen) < 1000 || deletions < 500 {
		t.Errorf("only %d states and %d deletions", len(seen), deletions)
	}
}

// ends makes steps in which the cloud calls the Node absent, until the Node is deleted.
func (w *removalWorld) ends(t *testing.T) {
	t.Helper()
	const bound = 60 // passes, of which there is one each second while a contradiction is fresh
	began := w.now
	for range bound {
		w.step(t, isAbsent)
		if w.removed {
			return
		}
	}
	t.Errorf("%v: not deleted after %d passes in %v: %s", short(w.path), bound, w.now.Sub(began), w.memory.holding.reason)
}

func short(path []turn) string {
	var words []string
	for _, t := range path[:min(len(path), 12)] {
		words = append(words, string(t))
	}
	return strings.Join(words, "; ")
}

// TestWhatNeverEndsInADeletion repeats the turns of each row for an hour, or
// until the Node is deleted.
func TestWhatNeverEndsInADeletion(t *testing.T) {
	for _, tt := range []struct {
		turns   []turn
		removed bool
	}{
		{turns: []turn{isPresent}},
		{turns: []turn{isUnknown}},
		{turns: []turn{witnessFails}},
		{turns: []turn{witnessDenied}},
		{turns: []turn{isAbsent, isPresent}},
		{turns: []turn{isAbsent, isAbsent, isPresent}},
		{turns: []turn{isAbsent, reportsNow}},
		{turns: []turn{isAbsent, isNew}},
		{turns: []turn{isAbsent, isOtherInstance}},
		{turns: []turn{isAbsent, leaderDies}},
		{turns: []turn{isAbsent}, removed: true},
		{turns: []turn{isAbsent, isUnknown}, removed: true},
		{turns: []turn{overTheBudget}, removed: true},
	} {
		t.Run(fmt.Sprint(tt.turns), func(t *testing.T) {
			w := newRemovalWorld()
			for n := 0; w.now.Before(noon.Add(time.Hour)) && !w.removed; n++ {
				w.step(t, tt.turns[n%len(tt.turns)])
			}
			if w.removed != tt.removed {
				t.Errorf("removed: %v, after %v", w.removed, w.now.Sub(noon))
			}
		})
	}
}
