package node

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

var (
	noon          = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	uninitialized = corev1.Taint{Key: api.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}
	other         = corev1.Taint{Key: "other", Effect: corev1.TaintEffectNoExecute}
	internal      = corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "127.0.1.1"}
	external      = corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "203.0.113.1"}
	hostname      = corev1.NodeAddress{Type: corev1.NodeHostName, Address: "n1"}
	compare       = cmp.Options{cmp.AllowUnexported(plan{}, change{}, message.Event{}, memory{}, message.Cause{}), cmpopts.EquateEmpty()}
	follows       = LabelPolicy{Type: true, Additional: true}
)

// fresh is a Node as a kubelet registers it.
func fresh(edits ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u1", ResourceVersion: "1", Labels: map[string]string{"keep": "user"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{uninitialized, other}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{hostname}},
	}
	for _, edit := range edits {
		edit(node)
	}
	return node
}

// settled is the Node of machine() after its initialisation.
func settled(edits ...func(*corev1.Node)) *corev1.Node {
	node := fresh(func(n *corev1.Node) {
		n.Spec.ProviderID = "p://1"
		n.Spec.Taints = []corev1.Taint{other}
		n.Labels = map[string]string{
			"keep":                              "user",
			corev1.LabelInstanceType:            "small",
			corev1.LabelInstanceTypeStable:      "small",
			corev1.LabelFailureDomainBetaZone:   "z1",
			corev1.LabelTopologyZone:            "z1",
			corev1.LabelFailureDomainBetaRegion: "r1",
			corev1.LabelTopologyRegion:          "r1",
		}
		n.Status.Addresses = []corev1.NodeAddress{internal, external, hostname}
	})
	for _, edit := range edits {
		edit(node)
	}
	return node
}

func machine(edits ...func(*instance)) answer {
	i := instance{providerID: "p://1", size: "small", zone: "z1", region: "r1", addresses: []corev1.NodeAddress{internal, external}}
	for _, edit := range edits {
		edit(&i)
	}
	return answer{given: described, instance: i}
}

func refusing(reason string) answer {
	return answer{given: refused, cause: message.Cause{Reason: reason, Message: "because"}}
}

func label(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func annotation(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Annotations = map[string]string{key: value} }
}

func addresses(list ...corev1.NodeAddress) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Addresses = list }
}

func shows(status corev1.ConditionStatus, reason, message string, written time.Time) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: ConditionInitialized, Status: status, Reason: reason, Message: message,
			LastHeartbeatTime: metav1.NewTime(written), LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour)),
		})
	}
}

func with(labels map[string]string) func(*instance) {
	return func(i *instance) { i.labels = labels }
}

// outcome is what a test row says about a plan.
type outcome struct {
	Do          action
	Why         string
	Addresses   []corev1.NodeAddress
	Condition   string // status, reason
	ProviderID  string
	Labels      map[string]*string
	Annotations map[string]*string
	Taints      []corev1.Taint
	Events      []string // reasons
}

func outcomeOf(p plan) outcome {
	got := outcome{
		Do: p.do, Why: p.why, Addresses: p.addresses, ProviderID: p.change.providerID,
		Labels: p.change.labels, Annotations: p.change.annotations,
	}
	if p.condition != nil {
		got.Condition = string(p.condition.Status) + " " + p.condition.Reason
	}
	if p.change.taints != nil {
		got.Taints = *p.change.taints
	}
	for _, e := range p.events {
		got.Events = append(got.Events, e.Reason)
	}
	return got
}

type row struct {
	name   string
	node   *corev1.Node
	answer answer
	memory memory
	policy LabelPolicy
	want   outcome
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.node.DeepCopy()
			got := decide(observed{now: noon, node: tt.node, answer: tt.answer, memory: tt.memory, policy: tt.policy})
			if diff := cmp.Diff(tt.want, outcomeOf(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.node); diff != "" {
				t.Errorf("decide has changed the informer's Node:\n%s", diff)
			}
		})
	}
}

// place are the six labels of an instance, as one write.
func place(edits ...func(map[string]*string)) map[string]*string {
	labels := map[string]*string{
		corev1.LabelInstanceType:            new("small"),
		corev1.LabelInstanceTypeStable:      new("small"),
		corev1.LabelFailureDomainBetaZone:   new("z1"),
		corev1.LabelTopologyZone:            new("z1"),
		corev1.LabelFailureDomainBetaRegion: new("r1"),
		corev1.LabelTopologyRegion:          new("r1"),
	}
	for _, edit := range edits {
		edit(labels)
	}
	return labels
}

func TestNodesThatAreLeftAlone(t *testing.T) {
	left := func(why string) outcome { return outcome{Do: doNothing, Why: why} }
	deleted := func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} }
	check(t, []row{
		{name: "TerminatingNodeIsLeftAlone", node: fresh(deleted), answer: machine(), want: left("the Node is being deleted")},
		{name: "ExcludedNodeIsLeftAlone", node: fresh(label(nodefact.LabelExclude, "")), want: left("the Node is labelled " + nodefact.LabelExclude)},
		{name: "ExcludedNodeIsLeftAloneAfterInitialisation", node: settled(label(nodefact.LabelExclude, "true")), answer: machine(func(i *instance) { i.size = "large" }), want: left("the Node is labelled " + nodefact.LabelExclude)},
		{name: "ExclusionThatSaysFalseIsNone", node: fresh(label(nodefact.LabelExclude, "false")), want: outcome{Do: ask, Why: "the Node waits for its instance to be described"}},
	})
}

func TestDecideInitialisation(t *testing.T) {
	const asks, described = "the Node waits for its instance to be described", "the cloud has described the instance"
	released := func(edits ...func(*outcome)) outcome {
		want := outcome{
			Do: release, Why: described, Addresses: []corev1.NodeAddress{internal, external, hostname}, ProviderID: "p://1",
			Labels: place(), Taints: []corev1.Taint{other}, Events: []string{"Synced"},
		}
		for _, edit := range edits {
			edit(&want)
		}
		return want
	}
	waits := func(reason, why string) outcome { return outcome{Do: wait, Why: why, Events: []string{reason}} }
	named := func(id string) func(*corev1.Node) { return func(n *corev1.Node) { n.Spec.ProviderID = id } }
	check(t, []row{
		{name: "UninitializedNodeAsksTheCloud", node: fresh(), want: outcome{Do: ask, Why: asks}},
		{name: "DescribedNodeIsReleasedWithAllThatIsKnown", node: fresh(), answer: machine(), want: released()},
		{
			name: "AddressesThatAreThereAreNotWritten", node: fresh(addresses(internal, external, hostname)), answer: machine(),
			want: released(func(o *outcome) { o.Addresses = nil }),
		},
		{name: "ProviderIDThatIsThereIsNotWritten", node: fresh(named("p://1")), answer: machine(), want: released(func(o *outcome) { o.ProviderID = "" })},
		{
			name: "ProviderIDOfTheNodeSufficesWhereTheCloudNamesNone", node: fresh(named("p://1")), answer: machine(func(i *instance) { i.providerID = "" }),
			want: released(func(o *outcome) { o.ProviderID = "" }),
		},
		{
			name: "AnotherProviderIDIsNotInitialized", node: fresh(named("p://2")), answer: machine(),
			want: waits("CloudInitFailed", otherInstance("p://2", "p://1").Message),
		},
		{
			name: "NoProviderIDAnywhereIsNotInitialized", node: fresh(), answer: machine(func(i *instance) { i.providerID = "" }),
			want: waits("CloudInitFailed", providerIDMissing().Message),
		},
		{
			name: "NamelessProviderInitializesWithoutProviderID", node: fresh(),
			answer: machine(func(i *instance) { i.providerID, i.nameless = "", true }),
			want:   released(func(o *outcome) { o.ProviderID = "" }),
		},
		{
			name: "NoAddressesMeansNothingToWrite", node: fresh(), answer: machine(func(i *instance) { i.addresses = nil }),
			want: released(func(o *outcome) { o.Addresses = nil }),
		},
		{
			name: "EmptyTypeAndPlaceWriteNoLabels", node: fresh(), answer: machine(func(i *instance) { i.size, i.zone, i.region = "", "", "" }),
			want: released(func(o *outcome) { o.Labels = nil }),
		},
		{
			name: "PlaceOfTheUserIsOverwritten", node: fresh(label(corev1.LabelTopologyZone, "mine")), answer: machine(),
			want: released(),
		},
		{
			name: "LabelsThatAreThereAreNotWritten", node: fresh(label(corev1.LabelTopologyZone, "z1")), answer: machine(),
			want: released(func(o *outcome) { delete(o.Labels, corev1.LabelTopologyZone) }),
		},
		{
			name: "InvalidTypeIsNotWritten", node: fresh(), answer: machine(func(i *instance) { i.size = "not a label" }),
			want: waits("CloudInitFailed", labelsInvalid([]string{`type "not a label"`}).Message),
		},
		{
			name: "InvalidAdditionalLabelIsNotWritten", node: fresh(), answer: machine(with(map[string]string{"a b": "c", "d": "e f"})),
			want: waits("CloudInitFailed", labelsInvalid([]string{`label "a b" with value "c"`, `label "d" with value "e f"`}).Message),
		},
		{
			name: "NodeIPThatIsNotOfferedIsWaitedFor", node: fresh(annotation(api.AnnotationAlphaProvidedIPAddr, "127.0.9.9")), answer: machine(),
			want: waits("CloudInitFailed", addressNotOffered(unmetAddress{"127.0.9.9", true}).Message),
		},
		{name: "RefusalOfTheCloudIsShown", node: fresh(), answer: refusing("CloudDenied"), want: waits("CloudInitFailed", "because")},
		{
			name: "AllTaintsOfTheKeyGo", node: fresh(func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{uninitialized, {Key: api.TaintExternalCloudProvider, Effect: corev1.TaintEffectNoExecute}}
			}), answer: machine(),
			want: released(func(o *outcome) { o.Taints = nil }),
		},
		{
			name: "AdditionalLabelsAreSetUnlessTheUserHasThem", node: fresh(), answer: machine(with(map[string]string{"a.example.com/x": "1", "keep": "cloud"})),
			want: released(func(o *outcome) { o.Labels["a.example.com/x"] = new("1") }),
		},
		{
			name: "KeysOfKubernetesAreIgnored", node: fresh(),
			answer: machine(with(map[string]string{"foo.k8s.io/y": "1", "kubernetes.io/x": "no label!", "fook8s.io/x": "1", "kubernetes.io.evil.com/x": "1", "k8s-io/x": "1"})),
			want: released(func(o *outcome) {
				o.Labels["fook8s.io/x"], o.Labels["kubernetes.io.evil.com/x"], o.Labels["k8s-io/x"] = new("1"), new("1"), new("1")
			}),
		},
		{
			name: "AdditionalLabelsAreRecordedWhereTheyFollow", node: fresh(), policy: follows, answer: machine(with(map[string]string{"a": "1", "keep": "cloud"})),
			want: released(func(o *outcome) {
				o.Labels["a"] = new("1")
				o.Annotations = map[string]*string{AnnotationLabels: new(`{"a":"1"}`)}
			}),
		},
	})
}

func TestDecideFollowing(t *testing.T) {
	calm := outcome{Do: doNothing, Why: "up to date"}
	updates := func(what string, edit func(*outcome)) outcome {
		want := outcome{Do: update, Why: what + " differ from the cloud's"}
		edit(&want)
		return want
	}
	size := func(size string) answer { return machine(func(i *instance) { i.size = size }) }
	grown := map[string]*string{corev1.LabelInstanceType: new("large"), corev1.LabelInstanceTypeStable: new("large")}
	warned := func(reason string) outcome {
		return outcome{Do: doNothing, Why: "up to date", Events: []string{reason}}
	}
	check(t, []row{
		{name: "NodeInStepIsLeftAlone", node: settled(), answer: machine(), policy: follows, want: calm},
		{name: "WithoutAnswerNothingIsAsked", node: settled(), policy: follows, want: calm},
		{name: "RefusalChangesNothing", node: settled(), answer: refusing("InstanceNotFound"), policy: follows, want: calm},
		{
			name: "AddressesFollow", node: settled(), policy: follows,
			answer: machine(func(i *instance) { i.addresses = []corev1.NodeAddress{external} }),
			want:   updates("addresses", func(o *outcome) { o.Addresses = []corev1.NodeAddress{external, hostname} }),
		},
		{name: "NoAddressesLeaveThoseThatAreThere", node: settled(), answer: machine(func(i *instance) { i.addresses = nil }), want: calm},
		{name: "TypeFollowsInBothKeys", node: settled(), answer: size("large"), policy: follows, want: updates("labels", func(o *outcome) { o.Labels = grown })},
		{name: "TypeStaysWithoutThePolicy", node: settled(), answer: size("large"), want: calm},
		{name: "UnknownTypeLeavesTheLabel", node: settled(), answer: size(""), policy: follows, want: calm},
		{
			name: "InvalidTypeIsReportedAndNotWritten", node: settled(), answer: size("no label!"), policy: follows,
			want: warned("CloudLabelsRejected"),
		},
		{
			name: "TypeOfTheCloudWinsOverAnEditedTwin", node: settled(label(corev1.LabelInstanceType, "edited")), answer: machine(), policy: follows,
			want: updates("labels", func(o *outcome) { o.Labels = map[string]*string{corev1.LabelInstanceType: new("small")} }),
		},
		{
			name: "UnknownTypeLetsTheTwinFollow", node: settled(label(corev1.LabelInstanceType, "edited")), answer: size(""), policy: follows,
			want: updates("labels", func(o *outcome) { o.Labels = map[string]*string{corev1.LabelInstanceTypeStable: new("edited")} }),
		},
		{
			name: "NewKeysFollowTheirOldTwins", node: settled(label(corev1.LabelFailureDomainBetaZone, "z9")),
			want: updates("labels", func(o *outcome) { o.Labels = map[string]*string{corev1.LabelTopologyZone: new("z9")} }),
		},
		{name: "ChangedZoneIsReportedAndNotWritten", node: settled(), answer: machine(func(i *instance) { i.zone = "z2" }), policy: follows, want: warned("CloudLocationChanged")},
		{name: "ChangedRegionIsReportedAndNotWritten", node: settled(), answer: machine(func(i *instance) { i.region = "r2" }), policy: follows, want: warned("CloudLocationChanged")},
		{
			name: "ChangedZoneIsReportedOnce", node: settled(), answer: machine(func(i *instance) { i.zone = "z2" }), policy: follows,
			memory: memory{uid: "u1", notices: hasMoved("zone", "z1", "z2").Message}, want: calm,
		},
		{name: "AnotherInstanceIsReportedAndNothingWritten", node: settled(), answer: machine(func(i *instance) { i.providerID, i.size = "p://2", "large" }), policy: follows, want: warned("CloudInstanceMismatch")},
		{
			name: "NodeIPThatIsNoLongerOfferedKeepsTheAddresses", node: settled(annotation(api.AnnotationAlphaProvidedIPAddr, "127.0.1.1")),
			answer: machine(func(i *instance) { i.addresses = []corev1.NodeAddress{external} }), want: warned("CloudAddressesRejected"),
		},
		{
			name: "NodeWithoutProviderIDGetsAddressesAndNoLabels", node: settled(func(n *corev1.Node) { n.Spec.ProviderID = "" }), policy: follows,
			answer: machine(func(i *instance) { i.size, i.addresses = "large", []corev1.NodeAddress{external} }),
			want:   updates("addresses", func(o *outcome) { o.Addresses = []corev1.NodeAddress{external, hostname} }),
		},
		{
			name: "NamelessNodeGetsLabelsToo", node: settled(func(n *corev1.Node) { n.Spec.ProviderID = "" }), policy: follows,
			answer: machine(func(i *instance) { i.providerID, i.nameless, i.size = "", true, "large" }),
			want:   updates("labels", func(o *outcome) { o.Labels = grown }),
		},
		{
			name: "ConditionOfAWaitThatIsOverTurnsTrue", node: settled(shows(corev1.ConditionFalse, "CloudDenied", "because", noon)),
			want: updates("condition", func(o *outcome) { o.Condition = "True Initialized" }),
		},
		{name: "ConditionThatIsTrueStays", node: settled(shows(corev1.ConditionTrue, "Initialized", "", noon)), want: calm},
		{
			name: "DifferencesAreNamedTogether", node: settled(label(corev1.LabelFailureDomainBetaZone, "z9"), shows(corev1.ConditionFalse, "X", "", noon)),
			want: updates("labels and condition", func(o *outcome) {
				o.Labels, o.Condition = map[string]*string{corev1.LabelTopologyZone: new("z9")}, "True Initialized"
			}),
		},
	})
}
