package nodelifecycle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

func located(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		if value == "" {
			delete(n.Labels, key)
			return
		}
		n.Labels[key] = value
	}
}

func TestCrowd(t *testing.T) {
	waits := func(reason string, after time.Duration) removal {
		return removal{Do: hold, Why: reason, After: after, Events: []string{"NodeDeletionHeld"}}
	}
	long := gone(n1, 20, 10*time.Minute, 0)
	const next = 2 * time.Minute
	checkRemoval(t, []removalRow{
		{name: "ThreeAreNoCrowd", memory: complete, roster: crowdOf(3, 10), want: removal{Do: lookLast, Why: onWard, After: next}},
		{name: "FourAre", memory: complete, roster: crowdOf(4, 10), want: waits("TooManyAbsent", time.Minute)},
		{name: "TenPercentAreNoCrowd", memory: complete, roster: crowdOf(10, 100), want: removal{Do: lookLast, Why: onWard, After: next}},
		{name: "ElevenOfAHundredAre", memory: complete, roster: crowdOf(11, 100), want: waits("TooManyAbsent", time.Minute)},
		{
			name: "NodesThatNobodyHasAskedAboutCount", memory: complete, roster: func() roster {
				r := crowdOf(4, 10)
				for i := range r.members {
					r.members[i].said, r.members[i].looked = unknown, false
				}
				return r
			}(), want: waits("TooManyAbsent", time.Minute),
		},
		{
			name: "CandidateItselfCounts", memory: complete, roster: func() roster {
				r := crowdOf(3, 10)
				r.members = append(r.members, member{node: n1, looked: true}) // as its last look is not remembered yet
				return r
			}(), want: waits("TooManyAbsent", time.Minute),
		},
		{
			name: "NodesOfAnotherProviderDoNot", memory: complete, roster: crowdOf(40, 80, providerID("q://1")),
			want: removal{Do: lookLast, Why: onWard, After: next},
		},
		{
			name: "ExcludedNodesDoNot", memory: complete, roster: crowdOf(40, 80, label(nodefact.LabelExclude, "")),
			want: removal{Do: lookLast, Why: onWard, After: next},
		},
		{
			name: "AnnouncedNodesDoNot", memory: complete, roster: crowdOf(40, 80, taint("ToBeDeletedByClusterAutoscaler")),
			want: removal{Do: lookLast, Why: onWard, After: next},
		},
		{
			name: "AnnouncedNodeIsNotHeld", node: old("n1", taint("karpenter.sh/disrupted")), memory: complete, roster: crowdOf(40, 80),
			want: removal{Do: lookLast, Why: onWard, After: next},
		},
		{name: "CrowdGoesAfterTenMinutes", memory: long, roster: crowdOf(40, 80), want: removal{Do: lookLast, Why: onWard, After: next}},
		{
			name: "AtABoundedRate", memory: long, roster: func() roster {
				r := crowdOf(40, 80)
				for i := range 8 {
					r.deleted = append(r.deleted, noon.Add(time.Duration(i-50)*time.Second))
				}
				return r
			}(), want: waits("DeletionRateLimited", 10*time.Second),
		},
		{
			name: "WhichIsForAMinute", memory: long, roster: func() roster {
				r := crowdOf(40, 80)
				for i := range 8 {
					r.deleted = append(r.deleted, noon.Add(time.Duration(i-60)*time.Second))
				}
				return r
			}(), want: removal{Do: lookLast, Why: onWard, After: next},
		},
	})
}

func TestWitness(t *testing.T) {
	holds := func(reason string) removal {
		return removal{Do: hold, Why: reason, After: time.Minute, Events: []string{"NodeDeletionHeld"}}
	}
	asksAbout := func(name string) removal { return removal{Do: askWitness, Why: another, Witness: name} }
	removes := removal{Do: remove, Why: vanish + ", and confirms 2 other Nodes"}
	nameless := old("n1", providerID(""))
	rows := []removalRow{
		{name: "LastLookAsksAboutTheNodeFirst", roster: trusted, lastLook: lastLook{isOn: true}, want: removal{Do: askExistence, Why: asks + "Ready is Unknown"}},
		{name: "WitnessesAreEnough", roster: trusted, want: removes},
		{name: "WitnessMustComeAfterTheLastAbsence", roster: rosterOf(witness("w1", present, time.Second), witness("w2", present, 10*time.Second)), want: asksAbout("w2")},
		{name: "WitnessesBeforeTheAbsenceDoNotCount", roster: rosterOf(witness("w1", present, 0), witness("w2", present, time.Minute)), want: asksAbout("w2")},
		{name: "WhoNobodyHasAskedIsAsked", roster: rosterOf(witness("w1", present, 0), unasked("w2"), witness("w3", present, 0, func(n *corev1.Node) { n.Name = "w1b" }, located(corev1.LabelTopologyRegion, "r2"))), want: asksAbout("w2")},
		{name: "OneWitnessWhereThereIsNoOther", roster: rosterOf(witness("w1", present, 0)), want: removal{Do: remove, Why: vanish + ", and confirms 1 other Nodes"}},
		{name: "SilentNodeIsNoWitness", roster: rosterOf(witness("w1", present, 0, ready(corev1.ConditionUnknown, 0))), want: holds("NoWitness")},
		{name: "WhoIsSilentIsNotAsked", roster: rosterOf(unasked("a", ready(corev1.ConditionUnknown, 0)), unasked("w1")), want: asksAbout("w1")},
		{name: "NodeItselfIsNoWitness", roster: rosterOf(witness("n1", present, 0)), want: holds("NoWitness")},
		{name: "NodeOfTheSameInstanceIsNoWitness", roster: rosterOf(witness("w1", present, 0, providerID("p://n1"))), want: holds("NoWitness")},
		{name: "NodeOfAnotherProviderIsNoWitness", roster: rosterOf(witness("w1", present, 0, providerID("q://w1"))), want: holds("NoWitness")},
		{name: "NodeOfAnotherRegionIsNoWitness", roster: rosterOf(witness("w1", present, 0, located(corev1.LabelTopologyRegion, "r2"))), want: holds("NoWitness")},
		{
			name: "NodeOfAnotherZoneIsOne", roster: rosterOf(witness("w1", present, 0, located(corev1.LabelTopologyZone, "z2"))),
			want: removal{Do: remove, Why: vanish + ", and confirms 1 other Nodes"},
		},
		{
			name: "ButNotWhereTheRegionIsUnknown", node: old("n1", located(corev1.LabelTopologyRegion, "")),
			roster: rosterOf(witness("w1", present, 0, located(corev1.LabelTopologyZone, "z2"))), want: holds("NoWitness"),
		},
		{
			name: "AnyNodeWherePlacesAreUnknown", node: old("n1", located(corev1.LabelTopologyRegion, ""), located(corev1.LabelTopologyZone, "")),
			roster: rosterOf(witness("w1", present, 0)), want: removal{Do: remove, Why: vanish + ", and confirms 1 other Nodes"},
		},
		{name: "ExcludedNodeIsNoWitness", roster: rosterOf(witness("w1", present, 0, label(nodefact.LabelExclude, ""))), want: holds("NoWitness")},
		{name: "UninitialisedNodeIsNoWitness", roster: rosterOf(witness("w1", present, 0, taint(api.TaintExternalCloudProvider))), want: holds("NoWitness")},
		{
			name: "AbsentNodeIsNoWitness", roster: rosterOf(member{node: old("w1"), said: absent, looked: true}, witness("w2", unknown, 0)),
			want: holds("NoWitness"),
		},
		{name: "WitnessesThatCannotBeAskedAreNone", roster: rosterOf(witness("w1", unknown, 0), witness("w2", unknown, 0)), want: holds("NoWitness")},
		{
			name: "NotAllNodesAreAskedInOneLook", roster: rosterOf(unasked("w1")), lastLook: lastLook{isOn: true, asked: true, questions: 7},
			want: holds("NoWitness"),
		},
		{
			name: "SchemeThatWasNeverConfirmedIsForeign", roster: roster{members: []member{witness("w1", unknown, 0)}},
			want: holds("ForeignProviderID"),
		},
		{
			name: "WhetherAnotherSchemeIsConfirmedIsAsked", roster: roster{members: []member{unasked("w1", providerID("q://w1"))}},
			want: asksAbout("w1"),
		},
		{
			name: "LonelyNodeOfASchemeThatWasNeverConfirmedIsForeign", roster: roster{
				members: []member{witness("w1", present, 0, providerID("q://w1"))}, confirmed: map[string]bool{"q": true},
			}, want: holds("ForeignProviderID"),
		},
		{
			name: "WhereNothingIsConfirmedNobodyKnows", roster: roster{members: []member{witness("w1", unknown, 0, providerID("q://w1"))}},
			want: holds("NoWitness"),
		},
		{
			name: "DenialByNameIsNoContradiction", node: nameless, roster: rosterOf(witness("w1", absent, 0), witness("w2", present, 0)),
			memory: gone(nameless, 4, 40*time.Second, 0), want: removal{Do: remove, Why: vanish + ", and confirms 1 other Nodes"},
		},
		{name: "DeniedNodeThatReportsHoldsAll", roster: rosterOf(witness("w1", present, 0), witness("w2", present, 0), witness("w3", absent, 0)), want: holds("CloudContradictsKubelet")},
		{name: "DeniedNodeIsAskedAboutAgainFirst", roster: rosterOf(unasked("w1"), witness("w3", absent, time.Second)), want: asksAbout("w3")},
		{name: "OneOfThemIsEnoughToAskAbout", roster: rosterOf(witness("w2", absent, 0), witness("w3", absent, time.Second)), want: holds("CloudContradictsKubelet")},
		{
			name: "DeniedNodeThatHasFallenSilentIsNoContradiction", roster: rosterOf(
				witness("w1", present, 0), witness("w2", present, 0), witness("w3", absent, 0, ready(corev1.ConditionUnknown, 0))),
			want: removes,
		},
		{
			name: "NodeDeniedForTenMinutesIsAStranger", roster: rosterOf(witness("w1", present, 0), witness("w2", present, 0), stranger()),
			memory: gone(n1, 10, time.Hour, 0), want: removes,
		},
		{
			name: "AndTheSurveyBeginsAnew", roster: rosterOf(witness("w1", present, 0), witness("w2", present, 11*time.Minute), stranger()),
			memory: gone(n1, 10, time.Hour, 0), want: asksAbout("w2"),
		},
		{name: "NodeWithoutProviderIDNeedsAWitnessToo", node: nameless, roster: rosterOf(), memory: gone(nameless, 4, 40*time.Second, 0), want: holds("NoWitness")},
		{
			name: "AnyOtherNodeIsOneForIt", node: nameless, roster: rosterOf(witness("w1", present, 0, providerID("q://1")), witness("w2", present, 0)),
			memory: gone(nameless, 4, 40*time.Second, 0), want: removes,
		},
		{
			name: "NobodyLeftWaitsForTheFlag", roster: rosterOf(), limits: func(l *Limits) { l.WithoutWitnessAfter = time.Hour },
			want: holds("NoWitness"),
		},
		{
			name: "AndGoesThen", roster: rosterOf(), limits: func(l *Limits) { l.WithoutWitnessAfter = 40 * time.Second },
			want: removal{Do: remove, Why: vanish + ", and no other Node is left to be confirmed"},
		},
		{
			name: "ButNotOfAForeignProvider", roster: roster{}, limits: func(l *Limits) { l.WithoutWitnessAfter = 40 * time.Second },
			want: holds("NoWitness"),
		},
		{name: "NoWitnessAskedFor", roster: roster{}, limits: func(l *Limits) { l.Witnesses = 0 }, want: removal{Do: remove, Why: vanish}},
		{
			name: "HeldDeletionThatGoesOnSaysSo", roster: trusted, memory: heldFor("TooManyAbsent"),
			want: removal{Do: remove, Why: removes.Why, Events: []string{"NodeDeletionResumed"}},
		},
		{name: "OneThatOnlyTookItsTimeDoesNot", roster: trusted, memory: heldFor("AbsenceUnconfirmed"), want: removes},
	}
	for i := range rows {
		if rows[i].memory.evidence == (evidence{}) {
			rows[i].memory = complete
		}
		if rows[i].lastLook == (lastLook{}) {
			rows[i].lastLook = lastNow
		}
	}
	checkRemoval(t, rows)
}

func stranger() member {
	m := witness("w3", absent, 0)
	m.sighting.since = noon.Add(-10 * time.Minute)
	return m
}

func heldFor(reason string) removalMemory {
	m := complete
	m.holding = holding{reason: reason, since: noon.Add(-time.Second)}
	return m
}

func TestOrdinaryLookKnowsOfAContradiction(t *testing.T) {
	checkRemoval(t, []removalRow{
		{
			name: "WhileItIsFresh", memory: complete, roster: rosterOf(witness("w1", absent, 20*time.Second)),
			want: removal{Do: hold, Why: "CloudContradictsKubelet", After: 10 * time.Second, Events: []string{"NodeDeletionHeld"}},
		},
		{
			name: "LaterTheLastLookAsksAgain", memory: complete, roster: rosterOf(witness("w1", absent, 30*time.Second)),
			want: removal{Do: lookLast, Why: onWard, After: 2 * time.Minute},
		},
		{
			name: "LastLookInVainIsNotRepeatedAtOnce", roster: trusted, memory: func() removalMemory {
				m := complete
				m.notLast = noon.Add(20 * time.Second)
				return m
			}(), want: removal{Do: leave, Why: "the last look has been in vain", After: 20 * time.Second},
		},
	})
}

func TestSightingRemembersTheFirstDenial(t *testing.T) {
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	s := sighting{}.with(said(absent), at(1)).with(fails("CloudDenied"), at(2)).with(said(absent), at(3))
	if s.said != absent || !s.since.Equal(at(1)) || !s.tried.Equal(at(3)) {
		t.Errorf("%+v, want to be absent since the first denial", s)
	}
	if s = s.with(said(present), at(4)).with(said(absent), at(5)); !s.since.Equal(at(5)) {
		t.Errorf("%+v, want to be absent since the denial after the last sight", s)
	}
}
