package nodelifecycle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

func TestWitness(t *testing.T) {
	nameless := old("n1", providerID(""), taint(api.TaintExternalCloudProvider))
	bare := old("n1", providerID("n1")) // an ID without "://"
	rows := []row{
		{name: "FinalCheckAsksAboutTheNodeFirst", peers: trusted, check: &check{}, want: "ask the cloud: the kubelet is silent: Ready is Unknown"},
		{name: "WitnessesAreEnough", peers: trusted, want: "delete: the cloud says that the instance does not exist, and confirms 2 other Nodes"},
		{name: "WitnessMustComeAfterTheLastAbsence", peers: peersOf(witness("w1", present, time.Second), witness("w2", present, 10*time.Second)), want: "ask about a witness: w1"},
		{name: "FailedWitnessIsNotAskedAgainForThat", limits: func(l *Limits) { l.Witnesses = 1 }, peers: peersOf(failedSince(witness("w1", present, time.Second), time.Second), witness("w2", present, 10*time.Second)), want: "ask about a witness: w2"},
		{name: "WitnessesBeforeTheAbsenceDoNotCount", peers: peersOf(witness("w1", present, 0), witness("w2", present, time.Minute)), want: "ask about a witness: w2"},
		{name: "NodeThatWasNeverAskedAboutIsNext", peers: peersOf(witness("w1", present, 0), unasked("w2"), witness("w3", present, 0, func(n *corev1.Node) { n.Name = "w1b" }, located(corev1.LabelTopologyRegion, "r2"))), want: "ask about a witness: w2"},
		{name: "TwoOfThreeOthersAreSilent", peers: peersOf(witness("w1", present, 0), silentNode(present, true), silentNode(present, true)), want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld"},
		{
			name: "TwoOfThreeOthersAreSilentForTenMinutes", memory: gone(n1, 10, 10*time.Minute, 0), peers: peersOf(witness("w1", present, 0), silentNode(present, true), silentNode(present, true)),
			want: "delete: the cloud says that the instance does not exist, and confirms 1 other Nodes",
		},
		{
			name: "OneOfTwoOthersIsSilent", peers: peersOf(witness("w1", present, 0), silentNode(present, true)),
			want: "delete: the cloud says that the instance does not exist, and confirms 1 other Nodes",
		},
		{name: "OneWitnessWhereThereIsNoOther", peers: peersOf(witness("w1", present, 0)), want: "delete: the cloud says that the instance does not exist, and confirms 1 other Nodes"},
		{name: "SilentNodeIsNoWitness", peers: peersOf(witness("w1", present, 0, ready(corev1.ConditionUnknown, 0))), want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld"},
		{name: "SilentNodeIsNotAskedAbout", peers: peersOf(unasked("a", ready(corev1.ConditionUnknown, 0)), unasked("w1")), want: "ask about a witness: w1"},
		{name: "NodeItselfIsNoWitness", peers: peersOf(witness("n1", present, 0)), want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld"},
		{name: "NodeOfTheSameInstanceIsNoWitness", peers: peersOf(witness("w1", present, 0, providerID("p://n1"))), want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld"},
		{name: "NodeOfAnotherProviderIsNoWitness", peers: peersOf(witness("w1", present, 0, providerID("q://w1"))), want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld"},
		{name: "NodeOfAnotherRegionIsNoWitness", peers: peersOf(witness("w1", present, 0, located(corev1.LabelTopologyRegion, "r2"))), want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld"},
		{
			name: "NodeOfAnotherZoneIsAWitness", peers: peersOf(witness("w1", present, 0, located(corev1.LabelTopologyZone, "z2"))),
			want: "delete: the cloud says that the instance does not exist, and confirms 1 other Nodes",
		},
		{
			name: "NodeOfAnotherZoneIsNoWitnessWhereTheRegionIsUnknown", node: old("n1", located(corev1.LabelTopologyRegion, "")),
			peers: peersOf(witness("w1", present, 0, located(corev1.LabelTopologyZone, "z2"))), want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "AnyNodeIsAWitnessWhereThePlaceIsUnknown", node: old("n1", located(corev1.LabelTopologyRegion, ""), located(corev1.LabelTopologyZone, "")),
			peers: peersOf(witness("w1", present, 0)), want: "delete: the cloud says that the instance does not exist, and confirms 1 other Nodes",
		},
		{name: "ExcludedNodeIsNoWitness", peers: peersOf(witness("w1", present, 0, label(ownership.LabelExclude, ""))), want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld"},
		{name: "UninitialisedNodeIsNoWitness", peers: peersOf(witness("w1", present, 0, taint(api.TaintExternalCloudProvider))), want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld"},
		{
			name: "AbsentNodeIsNoWitness", peers: peersOf(other{node: old("w1"), presence: absent, checked: true}, witness("w2", unknown, 0)),
			want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld",
		},
		{name: "WitnessesThatCannotBeAskedAreNone", peers: peersOf(witness("w1", unknown, 0), witness("w2", unknown, 0)), want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld"},
		{
			name: "QuestionsOfOneFinalCheckAreBounded", peers: peersOf(unasked("w1")), check: &check{asked: true, questions: 15},
			want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "SchemeThatWasNeverConfirmedIsForeign", peers: cluster{nodes: []other{witness("w1", unknown, 0)}},
			want: "hold: ForeignProviderID; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "NodeOfAnotherSchemeIsAskedAbout", peers: cluster{nodes: []other{unasked("w1", providerID("q://w1"))}},
			want: "ask about a witness: w1",
		},
		{
			name: "OnlyNodeOfASchemeThatWasNeverConfirmedIsForeign", peers: cluster{
				nodes: []other{witness("w1", present, 0, providerID("q://w1"))}, confirmed: map[string]bool{"q": true},
			}, want: "hold: ForeignProviderID; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "WhereNothingIsConfirmedNoNodeIsForeign", peers: cluster{nodes: []other{witness("w1", unknown, 0, providerID("q://w1"))}},
			want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "DenialByNameIsNoContradiction", node: nameless, peers: peersOf(witness("w1", absent, 0), witness("w2", present, 0)),
			memory: gone(nameless, 4, 3*time.Minute, 0), want: "delete: the cloud says that the instance does not exist, and confirms 1 other Nodes",
		},
		{name: "DeniedNodeThatReportsHoldsAll", peers: peersOf(witness("w1", present, 0), witness("w2", present, 0), witness("w3", absent, 0)), want: "hold: CloudContradictsKubelet; again in 1s; event NodeDeletionHeld"},
		{name: "OthersAreAskedAboutWhileADeniedNodeMayBeDying", peers: peersOf(unasked("w1"), witness("w3", absent, 0)), want: "ask about a witness: w1"},
		{name: "OthersAreNotAskedAboutOnceADenialIsAMinuteOld", peers: peersOf(unasked("w1"), deniedFor(witness("w3", absent, 0), time.Minute)), want: "hold: CloudContradictsKubelet; again in 30s; event NodeDeletionHeld"},
		{name: "OthersAreNotAskedAboutIfTwoAreDenied", peers: peersOf(unasked("w1"), witness("w2", absent, 0), witness("w3", absent, 0)), want: "hold: CloudContradictsKubelet; again in 1s; event NodeDeletionHeld"},
		{name: "OthersAreAskedAboutOnceWhileADeniedNodeMayBeDying", peers: peersOf(witness("w1", present, 5*time.Second), deniedFor(witness("w3", absent, 0), 10*time.Second)), want: "hold: CloudContradictsKubelet; again in 1s; event NodeDeletionHeld"},
		{name: "QuestionsWhileADeniedNodeMayBeDyingAreBounded", check: &check{asked: true, questions: 15}, peers: peersOf(unasked("w1"), witness("w3", absent, 0)), want: "hold: CloudContradictsKubelet; again in 1s; event NodeDeletionHeld"},
		{name: "DeniedNodeIsAskedAboutAgainFirst", peers: peersOf(unasked("w1"), witness("w3", absent, time.Second)), want: "ask about a witness: w3"},
		{name: "OneDeniedNodeIsEnoughToAskAbout", peers: peersOf(witness("w2", absent, 0), witness("w3", absent, time.Second)), want: "hold: CloudContradictsKubelet; again in 1s; event NodeDeletionHeld"},
		{
			name: "DeniedNodeThatHasFallenSilentIsNoContradiction", peers: peersOf(
				witness("w1", present, 0), witness("w2", present, 0), witness("w3", absent, 0, ready(corev1.ConditionUnknown, 0))),
			want: "delete: the cloud says that the instance does not exist, and confirms 2 other Nodes",
		},
		{
			name: "NodeDeniedForTenMinutesIsForeign", peers: peersOf(witness("w1", present, 0), witness("w2", present, 0), foreign()),
			memory: gone(n1, 10, time.Hour, 0), want: "delete: the cloud says that the instance does not exist, and confirms 2 other Nodes",
		},
		{
			name: "TwoDeniedNodesThatKeepReportingHoldAll", peers: peersOf(witness("w1", present, 0), witness("w2", present, 0), rogue("r1"), rogue("r2")),
			memory: gone(n1, 10, time.Hour, 0), want: "hold: DeniedNodesReport; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "DeniedNodeThatAnOperatorHasSetAsideDoesNotCount", peers: peersOf(witness("w1", present, 0), witness("w2", present, 0), rogue("r1"), rogue("r2", label(ownership.LabelExcludeRestricted, ""))),
			memory: gone(n1, 10, time.Hour, 0), want: "delete: the cloud says that the instance does not exist, and confirms 2 other Nodes",
		},
		{
			name: "FreshDenialCountsAlthoughOthersAreSetAside", peers: peersOf(witness("w1", present, 0), witness("w3", absent, 0), rogue("r2", label(ownership.LabelExcludeRestricted, ""))),
			memory: gone(n1, 10, time.Hour, 0), want: "hold: CloudContradictsKubelet; again in 1s; event NodeDeletionHeld",
		},
		{
			name: "ConfirmationsBeforeTheDenialDoNotCount", peers: peersOf(witness("w1", present, 0), witness("w2", present, 11*time.Minute), foreign()),
			memory: gone(n1, 10, time.Hour, 0), want: "ask about a witness: w2",
		},
		{
			name:  "FailureOfAWitnessThatWasConfirmedLongAgoIsTolerated",
			peers: peersOf(witness("w1", present, 0), witness("w2", present, 10*time.Second), failedSince(witness("w3", present, time.Hour), 0)), want: "delete: the cloud says that the instance does not exist, and confirms 2 other Nodes",
		},
		{
			name:  "FailureOfAConfirmedWitnessIsNoneToTolerate",
			peers: peersOf(witness("w1", present, 0), failedSince(witness("w2", present, 10*time.Second), 0), unasked("w3")), want: "ask about a witness: w3",
		},
		{
			name:  "FailureBeforeTheFirstAbsenceIsNoneToTolerate",
			peers: peersOf(witness("w1", present, 0), witness("w2", present, 10*time.Second), failedSince(witness("w3", present, time.Hour), time.Minute)), want: "ask about a witness: w3",
		},
		{
			name:  "MoreFailuresThanConfirmationsAreNotTolerated",
			peers: peersOf(witness("w1", present, 0), failedSince(unasked("w2"), 0), failedSince(unasked("w3"), 0)), want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name:  "WitnessesThatFailForTenMinutesDoNotCount",
			peers: peersOf(witness("w1", present, 0), failedSince(unasked("w2"), 0), failedSince(unasked("w3"), 0)), memory: gone(n1, 10, 10*time.Minute, 0),
			want: "delete: the cloud says that the instance does not exist, and confirms 1 other Nodes",
		},
		{
			name:  "WitnessThatWasNotAskedCountsAfterTenMinutesToo",
			peers: peersOf(witness("w1", present, 0), failedSince(unasked("w2"), 0), failedSince(witness("w3", present, 0), 0), failedSince(unasked("w5"), 0), unasked("w4")), memory: gone(n1, 10, 10*time.Minute, 0),
			want: "ask about a witness: w4",
		},
		{
			name:  "WitnessesThatAllFailAreNeverEnough",
			peers: peersOf(failedSince(witness("w1", present, time.Hour), 0), failedSince(unasked("w2"), 0)), memory: gone(n1, 10, 24*time.Hour, 0),
			want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld",
		},
		{name: "NodeWithoutProviderIDNeedsAWitnessToo", node: nameless, peers: peersOf(), memory: gone(nameless, 4, 3*time.Minute, 0), want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld"},
		{
			name: "AnyOtherNodeIsAWitnessForNodeWithoutProviderID", node: nameless, peers: peersOf(witness("w1", present, 0, providerID("q://1")), witness("w2", present, 0)),
			memory: gone(nameless, 4, 3*time.Minute, 0), want: "delete: the cloud says that the instance does not exist, and confirms 2 other Nodes",
		},
		{
			name: "NodeWithoutWitnessesWaitsForTheFlag", peers: peersOf(), limits: func(l *Limits) { l.WithoutWitnessAfter = time.Hour },
			want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "NodeWithoutWitnessesIsDeletedAfterTheFlag", peers: peersOf(), limits: func(l *Limits) { l.WithoutWitnessAfter = 40 * time.Second },
			want: "delete: the cloud says that the instance does not exist, and there is no other Node to ask the cloud about",
		},
		{
			name: "NodeIsNotConfirmedByTheNameOfAnother", node: nameless, peers: peersOf(witness("w1", present, 0, ready(corev1.ConditionUnknown, 0))),
			memory: gone(nameless, 4, 3*time.Minute, 0), limits: func(l *Limits) { l.WithoutWitnessAfter = time.Minute }, want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "NodeThatWasConfirmedByItsNameIsDeletedAfterTheFlag", node: nameless, peers: peersOf(other{node: nameless, record: record{presence: absent, confirmed: true}}),
			memory: gone(nameless, 4, 3*time.Minute, 0), limits: func(l *Limits) { l.WithoutWitnessAfter = time.Minute },
			want: "delete: the cloud says that the instance does not exist, and there is no other Node to ask the cloud about",
		},
		{
			name: "NodeWithoutProviderIDIsNoWitnessForOneWithoutScheme", node: bare, peers: peersOf(unasked("w1", providerID("")), unasked("w2", providerID("w2"))),
			memory: gone(bare, 4, 40*time.Second, 0), want: "ask about a witness: w2",
		},
		{
			name: "NodeOfAnUnconfirmedSchemeIsNotDeletedWithoutWitnesses", peers: cluster{}, limits: func(l *Limits) { l.WithoutWitnessAfter = 40 * time.Second },
			want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld",
		},
		{name: "NoWitnessIsNeededIfTheFlagSaysSo", peers: cluster{}, limits: func(l *Limits) { l.Witnesses = 0 }, want: "delete: the cloud says that the instance does not exist"},
		{
			name: "HeldDeletionThatGoesOnIsRecorded", peers: trusted, memory: heldFor("TooManyAbsent"),
			want: "delete: the cloud says that the instance does not exist, and confirms 2 other Nodes; event NodeDeletionResumed",
		},
		{name: "UnconfirmedDeletionThatIsMadeSaysNothing", peers: trusted, memory: heldFor("AbsenceUnconfirmed"), want: "delete: the cloud says that the instance does not exist, and confirms 2 other Nodes"},
	}
	for i := range rows {
		if rows[i].memory.evidence == (evidence{}) {
			rows[i].memory = complete
		}
		if rows[i].check == nil {
			rows[i].check = asked
		}
	}
	checkRows(t, rows)
}

// failedSince returns the witness with a last question that has failed and ended the
// given time ago.
func failedSince(p other, ago time.Duration) other {
	p.record.tried, p.record.failed = noon.Add(-ago), true
	return p
}

// deniedFor returns the witness with a first answer "absent" that came the given time
// ago.
func deniedFor(p other, ago time.Duration) other {
	p.record.since = noon.Add(-ago)
	return p
}

func foreign() other { return rogue("w3") }

// rogue returns a Node that the cloud has called absent for ten minutes, although its
// kubelet reports.
func rogue(name string, edits ...func(*corev1.Node)) other {
	return deniedFor(witness(name, absent, 0, edits...), 10*time.Minute)
}

func heldFor(reason string) memory {
	m := complete
	m.holding = holding{reason: reason, since: noon.Add(-time.Second)}
	return m
}

// After the questions about witnesses, the cloud is asked about the Node once more. Its
// answer determines the plan.
func TestFinalCheckAsksOnceMore(t *testing.T) {
	o := trusted.seenBy(observed{now: noon, node: n1, memory: complete, limits: DefaultLimits()}, true)
	p := decideDeletion(o, *asked)
	if p.do != askAgain {
		t.Fatalf("plan %q, want another question", digest(p))
	}
	failed := answer{asked: noon, failure: message.Cause{Reason: "CloudDenied", Message: "because"}}
	for _, tt := range []struct {
		name   string
		answer answer
		want   string
	}{
		{"Absent", answer{asked: noon, presence: absent}, "delete: the cloud says that the instance does not exist, and confirms 2 other Nodes"},
		{"Present", answer{asked: noon, presence: present}, "nothing: the cloud says that the instance exists; again in 5s"},
		{"NoAnswer", failed, "hold: CloudDenied; again in 1m0s; event NodeDeletionHeld"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o.memory, o.answer = p.memory, tt.answer
			if got := digest(decideDeletion(o, check{asked: true, again: true})); got != tt.want {
				t.Errorf("plan %q, want %q", got, tt.want)
			}
		})
	}
	o.memory, o.answer, o.limits.Witnesses = complete, answer{}, 0
	if got := decideDeletion(o, *asked); got.do != remove {
		t.Errorf("without witnesses: plan %q, want a deletion", digest(got))
	}
}

func TestFreshContradictionHolds(t *testing.T) {
	checkRows(t, []row{
		{
			name: "ContradictionHoldsWhileItIsFresh", memory: complete, peers: peersOf(witness("w1", absent, 20*time.Second)),
			want: "hold: CloudContradictsKubelet; again in 1s; event NodeDeletionHeld",
		},
		{
			name: "ManyHeldNodesLookAtItLessOften", memory: complete, peers: func() cluster {
				c := absentOf(300, 4000)
				c.nodes = append(c.nodes, witness("w1", absent, 20*time.Second))
				return c
			}(), want: "hold: CloudContradictsKubelet; again in 3s; event NodeDeletionHeld",
		},
		{
			name: "ContradictionThatLastsAMinuteIsNoDeath", memory: complete, peers: peersOf(deniedFor(witness("w1", absent, 4*time.Second), time.Minute)),
			want: "hold: CloudContradictsKubelet; again in 26s; event NodeDeletionHeld",
		},
		{
			name: "ContradictionIsAskedAboutAgainAfterHalfAMinute", memory: complete, peers: peersOf(deniedFor(witness("w1", absent, 0), 2*time.Minute)), check: asked,
			want: "hold: CloudContradictsKubelet; again in 30s; event NodeDeletionHeld",
		},
		{
			name: "OldContradictionIsAskedAboutInTheFinalCheck", memory: complete, peers: peersOf(witness("w1", absent, 30*time.Second)),
			want: "enqueue for the final check: the absence is confirmed; again in 2m0s",
		},
		{
			name: "FailedFinalCheckIsNotRepeatedAtOnce", peers: trusted, memory: func() memory {
				m := complete
				m.nextCheck = noon.Add(20 * time.Second)
				return m
			}(), want: "nothing: the final check has just failed; again in 20s",
		},
	})
}

func TestRecordRemembersTheFirstDenial(t *testing.T) {
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	s := record{}.with(answer{presence: absent, asked: at(1)}, at(1)).with(fails("CloudDenied"), at(2)).with(answer{presence: absent, asked: at(3)}, at(3))
	if s.presence != absent || !s.since.Equal(at(1)) || !s.tried.Equal(at(3)) {
		t.Errorf("%+v, want to be absent since the first denial", s)
	}
	if s = s.with(said(present), at(4)).with(answer{presence: absent, asked: at(5)}, at(5)); !s.since.Equal(at(5)) {
		t.Errorf("%+v, want to be absent since the denial after the last answer that said present", s)
	}
	if s = s.with(answer{presence: absent, asked: at(20)}, at(20)); !s.since.Equal(at(20)) {
		t.Errorf("%+v, want to be absent since the denial after a long time without questions", s)
	}
	s.since = at(10)
	if s = s.with(answer{presence: absent, asked: at(60)}, at(60)); !s.since.Equal(at(10)) {
		t.Errorf("%+v, want to be absent since the first denial, because it has lasted for long", s)
	}
}

func TestRecordRemembersThatANodeWasConfirmed(t *testing.T) {
	s := record{}.with(said(absent), noon)
	if s.confirmed {
		t.Error("confirmed without an answer that said present")
	}
	if s = s.with(said(present), noon).with(said(absent), noon); !s.confirmed {
		t.Error("the answer that said present is forgotten")
	}
}

func located(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		if value == "" {
			delete(n.Labels, key)
			return
		}
		n.Labels[key] = value
	}
}
