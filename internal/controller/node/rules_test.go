package node

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
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
		{"RecordedLabelFollows", map[string]string{"a": "1"}, record(`{"a":"1"}`), map[string]string{"a": "2"}, follows, map[string]*string{"a": new("2")}, new(`{"a":"2"}`)},
		{"EditedLabelBecomesTheUsers", map[string]string{"a": "mine"}, record(`{"a":"1"}`), map[string]string{"a": "2"}, follows, nil, new("")},
		{"LabelThatIsNoLongerOfferedGoes", map[string]string{"a": "1"}, record(`{"a":"1"}`), nil, follows, map[string]*string{"a": nil}, new("")},
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
		{"WithoutThePolicyALabelThatExistsIsTheUsers", map[string]string{"a": "1"}, record(`{"a":"1"}`), map[string]string{"a": "2"}, LabelPolicy{}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: tt.have, Annotations: tt.annotations}}
			labels, annotations := additionalLabels(node, tt.offered, tt.policy)
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

func TestWantedAddresses(t *testing.T) {
	address := func(kind corev1.NodeAddressType, ip string) corev1.NodeAddress {
		return corev1.NodeAddress{Type: kind, Address: ip}
	}
	var (
		int4  = address(corev1.NodeInternalIP, "127.0.1.1")
		int6  = address(corev1.NodeInternalIP, "fd00::1")
		int4b = address(corev1.NodeInternalIP, "127.0.1.2")
		ext4  = address(corev1.NodeExternalIP, "203.0.113.1")
		dns   = address(corev1.NodeInternalDNS, "n1.internal")
		host  = address(corev1.NodeHostName, "n1")
		cloud = address(corev1.NodeHostName, "n1.cloud")
	)
	list := func(a ...corev1.NodeAddress) []corev1.NodeAddress { return a }
	for _, tt := range []struct {
		name    string
		have    []corev1.NodeAddress
		chosen  string
		offered []corev1.NodeAddress
		want    []corev1.NodeAddress
		unmet   *unmetAddress
	}{
		{name: "NoneOfferedIsNone", have: list(host)},
		{name: "NoneOfferedIsNoneWhateverTheKubeletChose", chosen: "127.0.9.9"},
		{name: "HostnameOfTheNodeIsKept", have: list(int4b, host), offered: list(int4), want: list(int4, host)},
		{name: "HostnameOfTheCloudWins", have: list(host), offered: list(int4, cloud), want: list(int4, cloud)},
		{name: "TypesAreGroupedInFirstAppearance", offered: list(int4, ext4, int6), want: list(int4, int6, ext4)},
		{name: "DuplicatesAreOne", offered: list(int4, int4, ext4), want: list(int4, ext4)},
		{name: "ChosenAddressComesFirstAndAloneInItsType", chosen: "127.0.1.2", offered: list(dns, int4, int4b, ext4), want: list(int4b, dns, ext4)},
		{name: "ChosenOrderIsTheOrderOfFamilies", chosen: "fd00::1,127.0.1.1", offered: list(int4, int6, ext4), want: list(int6, int4, ext4)},
		{
			name: "ChosenAddressMatchesEveryType", chosen: "127.0.1.1", offered: list(int4, address(corev1.NodeExternalIP, "127.0.1.1"), ext4),
			want: list(int4, address(corev1.NodeExternalIP, "127.0.1.1")),
		},
		{name: "AddressIsComparedAsAddressAndNotAsText", chosen: "fd00:0::1", offered: list(int6), want: list(int6)},
		{name: "SecondFamilyThatIsNotOffered", chosen: "127.0.1.1,fd00::9", offered: list(int4, int6), unmet: &unmetAddress{"fd00::9", true}},
		{name: "EmptyChoiceDoesNotParse", chosen: "-", offered: list(int4), unmet: &unmetAddress{"", false}},
		{name: "SpacesDoNotParse", chosen: "127.0.1.1, fd00::1", offered: list(int4, int6), unmet: &unmetAddress{"127.0.1.1, fd00::1", false}},
		{name: "TwoOfOneFamilyDoNotParse", chosen: "127.0.1.1,127.0.1.2", offered: list(int4, int4b), unmet: &unmetAddress{"127.0.1.1,127.0.1.2", false}},
		{name: "UnspecifiedOfTwoDoesNotParse", chosen: "0.0.0.0,fd00::1", offered: list(int4, int6), unmet: &unmetAddress{"0.0.0.0,fd00::1", false}},
		{name: "ThreeDoNotParse", chosen: "127.0.1.1,fd00::1,fd00::2", offered: list(int4, int6), unmet: &unmetAddress{"127.0.1.1,fd00::1,fd00::2", false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := &corev1.Node{Status: corev1.NodeStatus{Addresses: tt.have}}
			if tt.chosen != "" {
				node.Annotations = map[string]string{"alpha.kubernetes.io/provided-node-ip": tt.chosen}
			}
			if tt.chosen == "-" {
				node.Annotations["alpha.kubernetes.io/provided-node-ip"] = ""
			}
			got, unmet := wantedAddresses(node, tt.offered)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.unmet, unmet, cmp.AllowUnexported(unmetAddress{})); diff != "" {
				t.Errorf("unmet (-want +got):\n%s", diff)
			}
		})
	}
}

// A patch that the server would store unchanged is never sent, in whatever
// order a provider mixes its types.
func TestMixedAddressesConverge(t *testing.T) {
	mixed := machine(func(i *instance) {
		i.addresses = []corev1.NodeAddress{internal, external, {Type: corev1.NodeInternalIP, Address: "fd00::1"}}
	})
	p := decide(observed{now: noon, node: settled(), answer: mixed})
	if p.addresses == nil {
		t.Fatal("the new address is not written")
	}
	if p := decide(observed{now: noon, node: settled(addresses(p.addresses...)), answer: mixed}); p.do != doNothing {
		t.Errorf("a Node that has what was written is to be written again: %v", p.why)
	}
}

func TestWaiting(t *testing.T) {
	var (
		long   = noon.Add(-2 * time.Minute)
		denied = message.Cause{Reason: "CloudDenied", Message: "because"}
	)
	for _, tt := range []struct {
		name      string
		node      *corev1.Node
		memory    memory
		event     bool
		condition bool
	}{
		{"FirstRefusalIsAnEvent", fresh(), memory{}, true, false},
		{"SameReasonIsNoEvent", fresh(), memory{waitsSince: noon, recorded: "CloudDenied", recordedAt: long}, false, false},
		{"AnotherReasonIsAnEvent", fresh(), memory{waitsSince: noon, recorded: "CloudSlow", recordedAt: long}, true, false},
		{"AlternatingReasonsAreNotAllRecorded", fresh(), memory{waitsSince: noon, recorded: "CloudSlow", recordedAt: noon.Add(-time.Second)}, false, false},
		{"NewLeaderDoesNotRepeatWhatTheNodeShows", fresh(shows(corev1.ConditionFalse, "CloudDenied", "because", long)), memory{}, false, false},
		{"NewLeaderTellsAnotherReason", fresh(shows(corev1.ConditionFalse, "CloudSlow", "because", long)), memory{}, true, true},
		{"ConditionIsWrittenAfterAMinute", fresh(), memory{waitsSince: noon.Add(-time.Minute), recorded: "CloudDenied", recordedAt: long}, false, true},
		{"ConditionIsWrittenAMinuteAfterTheCreationAlsoByANewLeader", fresh(func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(long) }), memory{}, true, true},
		{"ConditionIsWrittenOnce", fresh(shows(corev1.ConditionFalse, "CloudDenied", "because", long)), memory{waitsSince: long, recorded: "CloudDenied"}, false, false},
		{"MessageIsRewrittenSlowly", fresh(shows(corev1.ConditionFalse, "CloudDenied", "of old", long)), memory{waitsSince: long, recorded: "CloudDenied"}, false, false},
		{"MessageIsRewritten", fresh(shows(corev1.ConditionFalse, "CloudDenied", "of old", noon.Add(-5*time.Minute))), memory{waitsSince: long, recorded: "CloudDenied"}, false, true},
		{"AlternatingReasonsDoNotRewriteTheCondition", fresh(shows(corev1.ConditionFalse, "CloudSlow", "because", noon)), memory{waitsSince: long, recorded: "CloudDenied"}, false, false},
		{"ConditionOfAnEarlierSuccessIsCorrectedAtOnce", fresh(shows(corev1.ConditionTrue, "Initialized", "", noon)), memory{}, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.memory.uid = "u1"
			p := decide(observed{now: noon, node: tt.node, memory: tt.memory, answer: answer{given: refused, cause: denied}})
			if got := len(p.events) > 0; got != tt.event {
				t.Errorf("event = %v, want %v", p.events, tt.event)
			}
			if got := p.condition != nil; got != tt.condition {
				t.Errorf("condition = %v, want %v", p.condition, tt.condition)
			}
			if p.memory.waitsSince.IsZero() || p.memory.waitsFor != "CloudDenied" {
				t.Errorf("memory = %+v, want since when and for what the Node waits", p.memory)
			}
		})
	}
}

func TestConditionKeepsItsTransitionTime(t *testing.T) {
	shown := fresh(shows(corev1.ConditionFalse, "CloudSlow", "because", noon.Add(-time.Hour)))
	p := decide(observed{now: noon, node: shown, answer: refusing("CloudDenied")})
	if got, want := p.condition.LastTransitionTime.Time, noon.Add(-time.Hour); !got.Equal(want) {
		t.Errorf("False after False has transition time %v, want %v", got, want)
	}
	p = decide(observed{now: noon, node: settled(shows(corev1.ConditionFalse, "CloudSlow", "because", noon.Add(-time.Hour)))})
	if got := p.condition.LastTransitionTime.Time; !got.Equal(noon) {
		t.Errorf("True after False has transition time %v, want %v", got, noon)
	}
}

func TestMemoryOfAnotherNodeUnderTheNameIsForgotten(t *testing.T) {
	p := decide(observed{now: noon, node: fresh(), answer: refusing("CloudDenied"), memory: memory{uid: "u0", waitsSince: noon.Add(-time.Hour), recorded: "CloudDenied"}})
	want := memory{uid: "u1", waitsSince: noon, waitsFor: "CloudDenied", recorded: "CloudDenied", recordedAt: noon}
	if diff := cmp.Diff(want, p.memory, compare); diff != "" {
		t.Errorf("memory (-want +got):\n%s", diff)
	}
}

func TestRoundsAreSpreadOverThePeriod(t *testing.T) {
	r := refresher{period: 5 * time.Minute}
	for _, tt := range []struct {
		nodes, page int
		want        time.Duration
	}{
		{0, 1, idle},
		{1, 1, 5 * time.Minute},
		{300, 1, time.Second},
		{300, 100, 100 * time.Second},
		{301, 100, 75 * time.Second},
	} {
		if got := r.pause(tt.nodes, tt.page); got != tt.want {
			t.Errorf("%d nodes in pages of %d: a page each %v, want %v", tt.nodes, tt.page, got, tt.want)
		}
	}
}

func TestPageAfter(t *testing.T) {
	for _, tt := range []struct {
		name  string
		names []string
		last  string
		page  int
		want  []string
	}{
		{"WithoutNodesThereIsNoPage", nil, "b", 2, nil},
		{"FirstPage", []string{"c", "a", "b"}, "", 2, []string{"a", "b"}},
		{"LastPageMayBeShort", []string{"a", "b", "c"}, "b", 2, []string{"c"}},
		{"FirstPageFollowsTheLast", []string{"a", "b", "c"}, "c", 2, []string{"a", "b"}},
		{"NodeThatLeftIsPassed", []string{"a", "c"}, "b", 1, []string{"c"}},
		{"NodeThatJoinedIsNext", []string{"a", "b", "c"}, "a", 1, []string{"b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, pageAfter(tt.names, tt.last, tt.page), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("page (-want +got):\n%s", diff)
			}
		})
	}
}
