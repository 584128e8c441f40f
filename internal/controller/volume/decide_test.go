package volume

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

const (
	zone         = corev1.LabelTopologyZone
	region       = corev1.LabelTopologyRegion
	formerZone   = corev1.LabelFailureDomainBetaZone
	formerRegion = corev1.LabelFailureDomainBetaRegion
)

// volume returns a volume without zone and region.
func volume(edits ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "v", UID: "u1"},
		Spec:       corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "vol-1"}}},
	}
	for _, edit := range edits {
		edit(v)
	}
	return v
}

func has(labels map[string]string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) { v.Labels = labels }
}

func terminating(v *corev1.PersistentVolume) { v.DeletionTimestamp = &metav1.Time{Time: now} }

func replaced(v *corev1.PersistentVolume) { v.UID = "u2" }

func bound(terms ...corev1.NodeSelectorTerm) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	}
}

func term(all ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: all}
}

func where(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: op, Values: values}
}

func says(labels map[string]string) *answer {
	return &answer{uid: "u1", given: labelled, labels: labels}
}

func in(zones string) *answer { return says(map[string]string{zone: zones, region: "r1"}) }

// summary has the parts of a plan that a row compares.
type summary struct {
	Do     action
	Why    string
	Labels map[string]string
	Term   []corev1.NodeSelectorRequirement
	Event  string
	After  time.Duration
}

func summaryOf(p plan) summary {
	s := summary{Do: p.do, Why: p.why, Labels: p.labels, After: p.after}
	if p.affinity != nil {
		s.Term = p.affinity.Required.NodeSelectorTerms[0].MatchExpressions
	}
	if p.event != nil {
		s.Event = p.event.Reason
	}
	return s
}

func TestDecide(t *testing.T) {
	const wrote = "the cloud says where the volume is"
	both := map[string]string{region: "r1", zone: "a"}
	inRegion := where(region, corev1.NodeSelectorOpIn, "r1")
	failed := memory{uid: "u1", failures: 3, until: now.Add(time.Minute), why: "it failed"}
	for _, tt := range []struct {
		name   string
		volume *corev1.PersistentVolume
		memory memory
		answer *answer
		want   summary
	}{
		{"VolumeThatIsGoneIsForgotten", nil, failed, nil, summary{Do: forget, Why: "the volume does not exist"}},
		{"VolumeThatIsBeingDeletedIsLeftAlone", volume(terminating), memory{}, nil, summary{Do: leave, Why: "the volume is being deleted"}},
		{"ZoneIsNotWrittenOver", volume(has(map[string]string{zone: "b"})), memory{}, in("a"), summary{Do: leave, Why: "the volume has a label of its zone or region"}},
		{"EmptyZoneIsNotWrittenOver", volume(has(map[string]string{zone: ""})), memory{}, in("a"), summary{Do: leave, Why: "the volume has a label of its zone or region"}},
		{"RegionAloneIsNotWrittenOver", volume(has(map[string]string{region: "r2"})), memory{}, in("a"), summary{Do: leave, Why: "the volume has a label of its zone or region"}},
		{"FormerZoneIsNotWrittenOver", volume(has(map[string]string{formerZone: "b"})), memory{}, in("a"), summary{Do: leave, Why: "the volume has a label of its zone or region"}},
		{"FormerRegionIsNotWrittenOver", volume(has(map[string]string{formerRegion: "b"})), memory{}, in("a"), summary{Do: leave, Why: "the volume has a label of its zone or region"}},
		{"VolumeWithoutZoneIsAskedAbout", volume(has(map[string]string{"app": "x"})), memory{}, nil, summary{Do: ask, Why: "the volume has neither a zone nor a region"}},
		{"VolumeThatHasFailedWaits", volume(), failed, nil, summary{Do: wait, Why: "it failed", After: time.Minute}},
		{"VolumeThatReplacesAFailedOneDoesNotWait", volume(replaced), failed, nil, summary{Do: ask, Why: "the volume has neither a zone nor a region"}},
		{"AnswerAboutAnotherVolumeOfTheNameDoesNotCount", volume(replaced), memory{}, in("a"), summary{Do: ask, Why: "the volume has neither a zone nor a region"}},
		{"RemovedLabelsAreNotWrittenAgainAtOnce", volume(), memory{uid: "u1", written: now.Add(-time.Minute)}, nil, summary{Do: wait, Why: "somebody has removed the labels, and it is too early to write them again", After: 4 * time.Minute}},
		{"RemovedLabelsAreWrittenAgainLater", volume(), memory{uid: "u1", written: now.Add(-showing.PutBackAfter)}, nil, summary{Do: ask, Why: "the volume has neither a zone nor a region"}},
		{"VolumeOfOthersIsLeftAlone", volume(), memory{}, &answer{uid: "u1", given: foreign}, summary{Do: leave, Why: "the volume does not belong to the provider"}},
		{"ZoneAndRegionAreWritten", volume(), memory{}, in("a"), summary{Do: write, Why: wrote, Labels: both, Term: []corev1.NodeSelectorRequirement{inRegion, where(zone, corev1.NodeSelectorOpIn, "a")}}},
		{"SeveralZonesBecomeIn", volume(), memory{}, in("b__a__b"), summary{Do: write, Why: wrote, Labels: map[string]string{region: "r1", zone: "b__a__b"}, Term: []corev1.NodeSelectorRequirement{inRegion, where(zone, corev1.NodeSelectorOpIn, "a", "b")}}},
		{"EmptyRegionIsNotWritten", volume(), memory{}, says(map[string]string{zone: "a", region: ""}), summary{Do: write, Why: wrote, Labels: map[string]string{zone: "a"}, Term: []corev1.NodeSelectorRequirement{where(zone, corev1.NodeSelectorOpIn, "a")}}},
		{"RegionWithoutZoneIsWritten", volume(), memory{}, says(map[string]string{zone: "", region: "r1"}), summary{Do: write, Why: wrote, Labels: map[string]string{region: "r1"}, Term: []corev1.NodeSelectorRequirement{inRegion}}},
		{"FormerNamesBecomeThoseOfToday", volume(), memory{}, says(map[string]string{formerZone: "a", formerRegion: "r1", region: "r1"}), summary{Do: write, Why: wrote, Labels: both, Term: []corev1.NodeSelectorRequirement{inRegion, where(zone, corev1.NodeSelectorOpIn, "a")}}},
		{"OtherLabelsAreNotWritten", volume(), memory{}, says(map[string]string{zone: "a", "vendor.example/rack": "7"}), summary{Do: write, Why: wrote, Labels: map[string]string{zone: "a"}, Term: []corev1.NodeSelectorRequirement{where(zone, corev1.NodeSelectorOpIn, "a")}}},
		{"AffinityThatAgreesIsNotWrittenOver", volume(bound(term(where(zone, corev1.NodeSelectorOpIn, "a", "b")))), memory{}, in("a"), summary{Do: write, Why: wrote, Labels: both}},
		{"AffinityThatContradictsGetsNoLabel", volume(bound(term(where(zone, corev1.NodeSelectorOpIn, "b")))), memory{}, in("a"), summary{
			Do: wait, Why: "The cloud says that this volume is in topology.kubernetes.io/region=r1, topology.kubernetes.io/zone=a, and its node affinity excludes all nodes there. The volume gets no labels. Check the volume's ID. A node affinity cannot be changed, so create the PersistentVolume again.",
			Event: "VolumeTopologyContradicted", After: time.Second,
		}},
		{"AnswerWithoutZoneAndRegionIsReported", volume(), memory{}, says(map[string]string{zone: "", "a": "b"}), summary{
			Do: wait, Why: "The cloud's answer about this volume cannot be used: it names neither a zone nor a region. The volume gets no labels. The cloud is asked again. To place the volume yourself, set its labels and its node affinity.",
			Event: "VolumeTopologyUnknown", After: time.Second,
		}},
		{"FailureIsReported", volume(), memory{}, &answer{uid: "u1", text: "no"}, summary{
			Do: wait, Why: "The cloud could not be asked for the zone and region of this volume, so it gets no labels. The cloud is asked again. (no)", Event: "VolumeTopologyUnknown", After: time.Second,
		}},
		{"SlowAnswerIsAwaited", volume(), failed, &answer{uid: "u1", text: "no", slow: true}, summary{
			Do: wait, Why: "The cloud could not be asked for the zone and region of this volume, so it gets no labels. The cloud is asked again. (no)", Event: "VolumeTopologyUnknown", After: slowPause,
		}},
		{"PauseOfTheCloudCounts", volume(), failed, &answer{uid: "u1", text: "no", pause: time.Hour}, summary{
			Do: wait, Why: "The cloud could not be asked for the zone and region of this volume, so it gets no labels. The cloud is asked again. (no)", Event: "VolumeTopologyUnknown", After: time.Hour,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := summaryOf(decide(observed{now: now, volume: tt.volume, memory: tt.memory, answer: tt.answer}))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestUnusableAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		labels map[string]string
		want   string
	}{
		{"EmptyZoneOfSeveral", map[string]string{zone: "a__"}, `topology.kubernetes.io/zone is "a__", which is not a valid label value`},
		{"EmptyZoneBetweenTwo", map[string]string{zone: "a____b"}, `topology.kubernetes.io/zone is "a____b", and one of its zones is empty`},
		{"NoValueOfALabel", map[string]string{region: "r 1", zone: "a"}, `topology.kubernetes.io/region is "r 1", which is not a valid label value`},
		{"FormerNameWithAnotherValue", map[string]string{zone: "a", formerZone: "b"}, `topology.kubernetes.io/zone is "a" and failure-domain.beta.kubernetes.io/zone is "b"`},
		{"Nothing", map[string]string{}, "it names neither a zone nor a region"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, wrong := topologyOf(tt.labels); wrong != tt.want || got != nil {
				t.Errorf("got %v, %q, want nothing and %q", got, wrong, tt.want)
			}
		})
	}
}

func TestAgrees(t *testing.T) {
	where2 := func(op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return term(where(zone, op, values...))
	}
	for _, tt := range []struct {
		name     string
		affinity func(*corev1.PersistentVolume)
		zones    string
		want     bool
	}{
		{"NoAffinity", func(*corev1.PersistentVolume) {}, "a", true},
		{"EmptyAffinity", func(v *corev1.PersistentVolume) { v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{} }, "a", true},
		{"NoTermMatchesNoNode", bound(), "a", false},
		{"AboutOtherLabels", bound(term(where("kubernetes.io/hostname", corev1.NodeSelectorOpIn, "n"))), "a", true},
		{"OneOfItsZones", bound(where2(corev1.NodeSelectorOpIn, "a")), "a__b", true},
		{"NoneOfItsZones", bound(where2(corev1.NodeSelectorOpIn, "c")), "a__b", false},
		{"OneOfSeveralTerms", bound(where2(corev1.NodeSelectorOpIn, "c"), where2(corev1.NodeSelectorOpIn, "a")), "a", true},
		{"TwoRequirementsThatOneZoneMeets", bound(term(where(zone, corev1.NodeSelectorOpIn, "a", "b"), where(zone, corev1.NodeSelectorOpNotIn, "a"))), "a__b", true},
		{"TwoRequirementsThatNoZoneMeets", bound(term(where(zone, corev1.NodeSelectorOpIn, "a"), where(zone, corev1.NodeSelectorOpIn, "b"))), "a__b", false},
		{"AnotherRegion", bound(term(where(region, corev1.NodeSelectorOpIn, "r2"))), "a", false},
		{"NotIn", bound(where2(corev1.NodeSelectorOpNotIn, "a")), "a", false},
		{"Exists", bound(where2(corev1.NodeSelectorOpExists)), "a", true},
		{"DoesNotExist", bound(where2(corev1.NodeSelectorOpDoesNotExist)), "a", false},
		{"Number", bound(where2(corev1.NodeSelectorOpGt, "1")), "2", false},
		{"FormerName", bound(term(where(formerZone, corev1.NodeSelectorOpIn, "b"))), "a", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top, wrong := topologyOf(map[string]string{zone: tt.zones, region: "r1"})
			if wrong != "" {
				t.Fatal(wrong)
			}
			if got := agrees(volume(tt.affinity).Spec.NodeAffinity, top); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
			if !agrees(volume(bound(*termOf(top))).Spec.NodeAffinity, top) {
				t.Error("the affinity that is written does not agree with the labels")
			}
		})
	}
	if (place{key: "x"}).fits(term(where("x", corev1.NodeSelectorOpIn))) {
		t.Error("a place without values fits")
	}
	if isAbout(where("x", corev1.NodeSelectorOpIn), "x") {
		t.Error("x is a label of the topology")
	}
}

func termOf(t topology) *corev1.NodeSelectorTerm {
	return &t.affinity().Required.NodeSelectorTerms[0]
}

// A failure is recorded as an event once, and once more after showing.RepeatAfter.
func TestFailureIsRecordedOnce(t *testing.T) {
	at, m := now, memory{}
	var events []bool
	var pauses []time.Duration
	for range 13 {
		p := decide(observed{now: at, volume: volume(), memory: m, answer: &answer{uid: "u1", text: "no"}})
		m, at = p.memory, at.Add(p.after)
		events, pauses = append(events, p.event != nil), append(pauses, p.after)
	}
	if diff := cmp.Diff([]bool{true, false, false, false, false, false, false, false, false, false, false, true, false}, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	s := time.Second
	if diff := cmp.Diff([]time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s, 128 * s, 256 * s, 512 * s, 900 * s, 900 * s, 900 * s}, pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	p := decide(observed{now: at, volume: volume(bound(term(where(zone, corev1.NodeSelectorOpIn, "b")))), memory: m, answer: in("a")})
	if p.event == nil {
		t.Error("another reason is not recorded")
	}
}
