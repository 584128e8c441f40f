package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAdditionalLabels(t *testing.T) {
	record := func(text string) map[string]string { return map[string]string{AnnotationLabels: text} }
	for _, tt := range []struct {
		name        string
		have        map[string]string
		annotations map[string]string
		offered     map[string]string
		policy      LabelPolicy
		labels      map[string]*string
		record      *string // nil: not written; empty: removed
	}{
		{"MissingLabelIsSetAndRecorded", nil, nil, map[string]string{"a": "1"}, follows, map[string]*string{"a": new("1")}, new(`{"a":"1"}`)},
		{"EqualLabelWithoutRecordIsAdopted", map[string]string{"a": "1"}, nil, map[string]string{"a": "1"}, follows, nil, new(`{"a":"1"}`)},
		{"DifferingLabelWithoutRecordIsTheUsers", map[string]string{"a": "2"}, nil, map[string]string{"a": "1"}, follows, nil, nil},
		{"DifferingLabelIsOverwritten", map[string]string{"a": "2"}, nil, map[string]string{"a": "1"}, LabelPolicy{Additional: true, Overwrite: true}, map[string]*string{"a": new("1")}, new(`{"a":"1"}`)},
		{"RecordedLabelFollows", map[string]string{"a": "1"}, record(`{"a":"1"}`), map[string]string{"a": "2"}, follows, map[string]*string{"a": new("2")}, new(`{"a":"2"}`)},
		{"EditedLabelBecomesTheUsers", map[string]string{"a": "mine"}, record(`{"a":"1"}`), map[string]string{"a": "2"}, follows, nil, new("")},
		{"LabelThatIsNoLongerOfferedStays", map[string]string{"a": "1"}, record(`{"a":"1"}`), map[string]string{}, follows, nil, nil},
		{"NoLabelsAtAllLeaveThoseThatAreThere", map[string]string{"a": "1", "b": "2"}, record(`{"a":"1","b":"2"}`), nil, follows, nil, nil},
		{"LabelThatIsNotOfferedWhileTheNodeHasItStays", map[string]string{"a": "1", "b": "2"}, record(`{"a":"1","b":"2"}`), map[string]string{"b": "3"}, follows, map[string]*string{"b": new("3")}, new(`{"a":"1","b":"3"}`)},
		{"RemovedLabelThatIsNotOfferedIsForgotten", nil, record(`{"a":"1"}`), nil, follows, nil, new("")},
		{"EditedLabelThatIsNoLongerOfferedStays", map[string]string{"a": "mine"}, record(`{"a":"1"}`), nil, follows, nil, new("")},
		{"RemovedLabelIsPutBack", nil, record(`{"a":"1"}`), map[string]string{"a": "1"}, follows, map[string]*string{"a": new("1")}, nil},
		{"LabelInStepIsLeftAlone", map[string]string{"a": "1"}, record(`{"a":"1"}`), map[string]string{"a": "1"}, follows, nil, nil},
		{"DamagedRecordIsIgnored", map[string]string{"a": "1"}, record(`{"a"`), map[string]string{"a": "2"}, follows, nil, new("")},
		{"InvalidLabelIsSkipped", nil, nil, map[string]string{"a": "no label!", "b": "1"}, follows, map[string]*string{"b": new("1")}, new(`{"b":"1"}`)},
		{"RecordedLabelThatBecameInvalidStaysOurs", map[string]string{"a": "1"}, record(`{"a":"1"}`), map[string]string{"a": "no label!"}, follows, nil, nil},
		{"EditedLabelThatBecameInvalidIsTheUsers", map[string]string{"a": "mine"}, record(`{"a":"1"}`), map[string]string{"a": "no label!"}, follows, nil, new("")},
		{"EmptyLabelWithoutRecordIsTheUsers", map[string]string{"a": ""}, nil, map[string]string{"a": "1"}, follows, nil, nil},
		{
			"RecordNeverReachesLabelsOfKubernetes",
			map[string]string{"node-restriction.kubernetes.io/tenant": "a"},
			record(`{"node-restriction.kubernetes.io/tenant":"a"}`), nil, follows, nil, new(""),
		},
		{"ReservedLabelIsNeverRecorded", map[string]string{"x.k8s.io/a": "1"}, nil, map[string]string{"x.k8s.io/a": "1"}, follows, nil, nil},
		{"WithoutThePolicyNothingIsRecorded", nil, nil, map[string]string{"a": "1"}, LabelPolicy{}, map[string]*string{"a": new("1")}, nil},
		{"WithoutThePolicyAnExistingLabelIsNotOverwritten", map[string]string{"a": "1"}, record(`{"a":"1"}`), map[string]string{"a": "2"}, LabelPolicy{}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: tt.have, Annotations: tt.annotations}}
			labels, set := additionalLabels(node, tt.offered, tt.policy)
			annotations := map[string]*string{}
			if tt.policy.Additional {
				annotations = recordOf(set, node)
			}
			if diff := cmp.Diff(tt.labels, labels, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			want := map[string]*string{}
			if tt.record != nil {
				want[AnnotationLabels] = tt.record
				if *tt.record == "" {
					want[AnnotationLabels] = nil
				}
			}
			if diff := cmp.Diff(want, annotations, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}

// Providers leave out labels for many reasons. A label is removed only if the flag
// says so, and if several answers in a row leave it out.
func TestLabelsThatAreNoLongerOffered(t *testing.T) {
	var (
		none    map[string]string
		some    = map[string]string{"b": "2"}
		all     = map[string]string{"a": "1", "b": "2"}
		removes = LabelPolicy{Type: true, Additional: true, Remove: true}
	)
	for _, tt := range []struct {
		name   string
		policy LabelPolicy
		says   []map[string]string // answers, one after the other
		goes   int                 // the number of the answer that removes the label; 0: the label stays
		more   bool                // the cloud has named more labels than are read
	}{
		{"WithoutTheFlagItStays", follows, []map[string]string{some, some, some, some, some, some}, 0, false},
		{"ThreeAnswersRemoveIt", removes, []map[string]string{some, some, some}, 3, false},
		{"TwoAnswersDoNot", removes, []map[string]string{some, some}, 0, false},
		{"AnswerThatNamesItBeginsAnew", removes, []map[string]string{some, some, all, some, some}, 0, false},
		{"AnswerWithoutLabelsSaysNothing", removes, []map[string]string{none, none, none, none}, 0, false},
		{"AnswerWithoutLabelsDoesNotBeginAnew", removes, []map[string]string{some, none, some, none, some}, 5, false},
		{"EmptyLabelsAreAnAnswer", removes, []map[string]string{{}, {}, {}}, 3, false},
		{"AnswerWithMoreLabelsThanAreReadSaysNothing", removes, []map[string]string{some, some, some, some}, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := settled(label("a", "1"), label("b", "2"), annotation(AnnotationLabels, `{"a":"1","b":"2"}`))
			m := memory{uid: "u1"}
			goes := 0
			for n, offered := range tt.says {
				p := decide(observed{now: noon, node: node, answer: machine(with(offered), func(i *instance) { i.moreLabels = tt.more }), memory: m, policy: tt.policy})
				if value, changed := p.change.labels["a"]; changed && value == nil && goes == 0 {
					goes = n + 1
				}
				m = decide(observed{now: noon, node: node, memory: p.memory, policy: tt.policy}).memory // a pass without an answer
			}
			if goes != tt.goes {
				t.Errorf("the label goes with answer %d, want %d", goes, tt.goes)
			}
		})
	}
}
