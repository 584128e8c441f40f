package ledger

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// seen is the result of one Look, together with the time since the previous Look.
type seen struct {
	after  time.Duration
	facts  Facts
	effect step.Effect // empty: the object is gone
}

func is(object string, effect step.Effect) step.Step {
	return step.Step{Object: object, Effect: effect, Do: string(effect), Why: "w"}
}

func TestFates(t *testing.T) {
	removes, waits, done := Facts{UID: "u", Deletes: "node"}, Facts{UID: "u", Waits: true}, Facts{UID: "u"}
	for _, tt := range []struct {
		name    string
		object  string
		looks   []seen
		decided []step.Effect
		differs []What // the differences that were found
		report  []What
	}{
		{"NodeThatStays", "node/n", []seen{{0, removes, step.None}, {time.Hour, removes, step.None}}, nil, nil, nil},
		{"HeldNodeIsDeletedByAnother", "node/n", []seen{{0, removes, step.Wait}, {time.Second, removes, ""}}, []step.Effect{step.Wait}, []What{Deleted}, []What{Deleted}},
		{"NodeThatStaysIsDeletedByAnother", "node/n", []seen{{0, removes, step.None}, {time.Second, removes, ""}}, nil, []What{Deleted}, []What{Deleted}},
		{"NodeIsDeletedAsHere", "node/n", []seen{{0, removes, step.Delete}, {time.Second, removes, ""}}, []step.Effect{step.Delete}, nil, nil},
		{"NodeIsReplacedUnderItsName", "node/n", []seen{{0, removes, step.Wait}, {time.Second, Facts{UID: "v", Deletes: "node"}, step.None}}, []step.Effect{step.Wait}, []What{Deleted}, []What{Deleted}},
		{"ControllerThatDeletesNothingSaysNothing", "node/n", []seen{{0, done, step.None}, {time.Second, done, ""}}, nil, nil, nil},
		{"ConditionOfTheRouteControllerIsNoRoute", "node/n", []seen{{0, Facts{Deletes: "route"}, step.Update}, {time.Second, Facts{Deletes: "route"}, ""}}, []step.Effect{step.Update}, nil, nil},
		{"HeldRouteIsDeletedByAnother", "route/r", []seen{{0, Facts{Deletes: "route"}, step.Wait}, {time.Second, Facts{Deletes: "route"}, ""}}, []step.Effect{step.Wait}, []What{Deleted}, []What{Deleted}},
		{"RouteThatWasNeverMadeIsNotDeleted", "route/r", []seen{{0, Facts{Deletes: "route"}, step.Create}, {time.Second, Facts{Deletes: "route"}, ""}}, []step.Effect{step.Create}, nil, nil},
		{"WaitingNodeIsInitialisedByAnother", "node/n", []seen{{0, waits, step.Wait}, {time.Second, done, step.None}}, []step.Effect{step.Wait, step.None}, []What{Initialized}, []What{Initialized}},
		{"NodeIsInitialisedAsHere", "node/n", []seen{{0, waits, step.Create}, {time.Second, done, step.None}}, []step.Effect{step.Create, step.None}, nil, nil},
		{"NodeThatTheCloudDidNotDescribeIsNotInitialised", "node/n", []seen{{0, done, step.Wait}, {time.Second, done, step.None}}, []step.Effect{step.Wait, step.None}, nil, nil},
		{"DeletionThatNobodyMakes", "node/n", []seen{{0, removes, step.Delete}, {LastsAfter - 1, removes, step.Delete}, {1, removes, step.Delete}, {time.Hour, removes, step.Delete}}, []step.Effect{step.Delete}, []What{NotDeleted}, []What{NotDeleted}},
		{"LateDeletionIsNoDifferenceAnyMore", "node/n", []seen{{0, removes, step.Delete}, {LastsAfter, removes, step.Delete}, {1, removes, ""}}, []step.Effect{step.Delete}, []What{NotDeleted}, nil},
		{"NodeThatNobodyInitialises", "node/n", []seen{{0, waits, step.Create}, {LastsAfter, waits, step.Create}}, []step.Effect{step.Create}, []What{NotMade}, []What{NotMade}},
		{"DecisionThatIsTakenBack", "node/n", []seen{{0, removes, step.Delete}, {LastsAfter, removes, step.Delete}, {1, removes, step.None}}, []step.Effect{step.Delete, step.None}, []What{NotDeleted}, nil},
		{"UpdateThatNobodyMakesIsNoDifference", "node/n", []seen{{0, done, step.Update}, {LastsAfter, done, step.Update}}, []step.Effect{step.Update}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, now := New(), start
			var decided []step.Effect
			var differs, report []What
			for _, s := range tt.looks {
				now = now.Add(s.after)
				look := Look{Controller: "c", Key: "k", At: now, Facts: s.facts}
				if s.effect != "" {
					look.Steps = []step.Step{is(tt.object, s.effect)}
				}
				news := l.Note(look)
				for _, d := range news.Decided {
					decided = append(decided, d.Effect)
				}
				for _, d := range news.Differs {
					differs = append(differs, d.What)
				}
			}
			for _, d := range l.Report().Differences {
				report = append(report, d.What)
				if d.What.Why() == "" || l.Count(d.What) != 1 {
					t.Errorf("%s: %q, counted %d times", d.What, d.What.Why(), l.Count(d.What))
				}
			}
			if diff := cmp.Diff([]any{tt.decided, tt.differs, tt.report}, []any{decided, differs, report}); diff != "" {
				t.Errorf("decisions, differences, report (-want +got):\n%s", diff)
			}
		})
	}
}

// A decision is reported once, even if a number in its explanation changes.
func TestSentenceIsNoDecision(t *testing.T) {
	l := New()
	for n := range 3 {
		s := is("node/n", step.Wait)
		s.Why = fmt.Sprintf("absent %d of 3 times", n)
		news := l.Note(Look{Controller: "c", Key: "n", At: start, Steps: []step.Step{s}})
		if got := len(news.Decided); got != map[bool]int{true: 1}[n == 0] {
			t.Errorf("look %d: %d decisions are told", n, got)
		}
	}
}

// A CIDR with two routes has two steps. If the next Look has the same two steps,
// there is no new decision.
func TestTwoStepsOfOneObjectAreOneDecision(t *testing.T) {
	l := New()
	both := []step.Step{is("route/r", step.Delete), is("route/r", step.None)}
	for n, want := range []int{1, 0} {
		news := l.Note(Look{Controller: "c", Key: "table", At: start, Facts: Facts{Deletes: "route"}, Steps: both})
		if len(news.Decided) != want || want > 0 && news.Decided[0].Effect != step.Delete {
			t.Errorf("look %d: %+v, want %d decisions, to delete", n, news.Decided, want)
		}
	}
}

// The ledger is bounded. It forgets objects that are gone. It keeps at most
// maxDifferences of the Deleted and Initialized differences.
func TestLedgerIsBounded(t *testing.T) {
	l := New()
	for n := range maxDifferences + 5 {
		key := strconv.Itoa(n)
		facts := Facts{UID: "u", Deletes: "node"}
		l.Note(Look{Controller: "c", Key: key, At: start, Facts: facts, Steps: []step.Step{is("node/"+key, step.Delete)}})
		l.Note(Look{Controller: "c", Key: key, At: start.Add(LastsAfter), Facts: facts, Steps: []step.Step{is("node/"+key, step.Delete)}})
		l.Note(Look{Controller: "c", Key: key, At: start.Add(LastsAfter), Facts: facts, Steps: []step.Step{is("node/"+key, step.None)}})
		l.Note(Look{Controller: "c", Key: key, At: start.Add(LastsAfter), Facts: facts})
	}
	r := l.Report()
	if len(l.decisions) > 0 || l.keys["c"] != 0 || len(l.last) > 0 || len(r.Differences) != maxDifferences || r.Dropped != 5 {
		t.Errorf("%d keys and %d lasting differences are remembered; %d differences, %d dropped", len(l.decisions), len(l.last), len(r.Differences), r.Dropped)
	}
}

func TestUnknownDifferenceHasNoSentence(t *testing.T) {
	if got := What("x").Why(); got != "" {
		t.Error(got)
	}
}
