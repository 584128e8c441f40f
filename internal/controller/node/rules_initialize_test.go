package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

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
			name: "ProviderIDOfAnotherNodeIsNotInitialized", node: fresh(named("p://2")), answer: machine(), holder: "n2",
			want: waits("CloudInitFailed", otherInstance(observed{node: fresh(named("p://2")), answer: machine(), holder: "n2"}).Message),
		},
		{
			name: "AnotherSpellingOfTheProviderIDIsInitialized", node: fresh(named("hcloud://bm-1")), answer: machine(func(i *instance) { i.providerID = "hrobot://1" }),
			want: released(func(o *outcome) { o.ProviderID = "" }),
		},
		{
			name: "AnotherSpellingIsNotInitializedIfTheFlagSaysSo", node: fresh(named("p://r1/1")), answer: machine(), strict: true,
			want: waits("CloudInitFailed", otherInstance(observed{node: fresh(named("p://r1/1")), answer: machine()}).Message),
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
			name: "NoAddressesMeansNothingToWrite", node: fresh(addresses(internal)), answer: machine(offering()),
			want: released(func(o *outcome) { o.Addresses = nil }),
		},
		{name: "NodeWithoutIPAddressWaits", node: fresh(), answer: machine(offering()), want: waits("CloudInitFailed", noIPOffered().Message)},
		{name: "NodeThatTheCloudGivesOnlyANameWaits", node: fresh(addresses(internal)), answer: machine(offering(hostname)), want: waits("CloudInitFailed", noIPOffered().Message)},
		{
			name: "ExternalIPAddressIsEnough", node: fresh(), answer: machine(offering(external)),
			want: released(func(o *outcome) { o.Addresses = []corev1.NodeAddress{external, hostname} }),
		},
		{
			name: "OrderOfTheAddressesThatAreThereStays", node: fresh(addresses(external, hostname, internal)), answer: machine(),
			want: released(func(o *outcome) { o.Addresses = nil }),
		},
		{
			name: "AddressThatIsNoneIsNotWritten", node: fresh(), answer: machine(offering(internal, nothing)),
			want: waits("CloudInitFailed", addressesUnusable([]string{`ExternalIP "<nil>"`}).Message),
		},
		{
			name: "ProviderIDThatNamesNothingIsNotWritten", node: fresh(), answer: machine(func(i *instance) { i.providerID = "p://" }),
			want: waits("CloudInitFailed", providerIDUnusable("p://").Message),
		},
		{
			name: "ProviderIDOfTheNodeIsNotJudged", node: fresh(named("p://")), answer: machine(func(i *instance) { i.providerID = "p://" }),
			want: released(func(o *outcome) { o.ProviderID = "" }),
		},
		{
			name: "InstanceOfANodeThatReportsIsWaitedFor", node: fresh(), answer: machine(), twin: "n2",
			want: waits("CloudInitFailed", sharedInstance(observed{node: fresh(), answer: machine(), twin: "n2"}).Message),
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
			want: waits("CloudInitFailed", addressNotOffered(unmetAddress{"127.0.9.9", true}, instance{}).Message),
		},
		{
			name: "NodeIPThatMightBeAmongTheAddressesNotReadSaysSo", node: fresh(annotation(api.AnnotationAlphaProvidedIPAddr, "127.0.9.9")),
			answer: machine(func(i *instance) { i.moreAddresses = true }),
			want: waits("CloudInitFailed", addressNotOffered(unmetAddress{"127.0.9.9", true}, instance{}).Message+
				" The cloud names more addresses than the 64 that are read, and this address might be one of the others."),
		},
		{
			name: "TruncatedInstanceIsReportedAtTheRelease", node: fresh(), answer: machine(func(i *instance) { i.moreAddresses, i.moreLabels = true, true }),
			want: released(func(o *outcome) { o.Events = []string{"Synced", "CloudInstanceTruncated"} }),
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
			name: "AdditionalLabelsAreRecordedWhereTheyFollow", node: fresh(), policy: LabelPolicy{Type: true, Additional: true, Overwrite: true}, answer: machine(with(map[string]string{"a": "1", "keep": "cloud"})),
			want: released(func(o *outcome) {
				o.Labels["a"] = new("1")
				o.Annotations = map[string]*string{AnnotationLabels: new(`{"a":"1"}`)}
			}),
		},
	})
}

// TestMark checks the label that shows which provider ID this manager has
// written. A Node whose kubelet has written the provider ID does not get the label.
func TestMark(t *testing.T) {
	for _, tt := range []struct {
		name   string
		node   *corev1.Node
		answer answer
		marks  bool
		want   string
	}{
		{"OwnProviderIDIsMarked", fresh(), machine(), true, nodefact.Identity(fresh().UID, "p://1")},
		{"ProviderIDOfTheKubeletIsNot", fresh(named("p://1")), machine(), true, ""},
		{"NoProviderIDIsNot", fresh(), machine(func(i *instance) { i.providerID, i.nameless = "", true }), true, ""},
		{"OffByDefault", fresh(), machine(), false, ""},
	} {
		got := ""
		if label := decide(observed{now: noon, node: tt.node, answer: tt.answer, marks: tt.marks}).change.labels[nodefact.LabelIdentity]; label != nil {
			got = *label
		}
		if got != tt.want {
			t.Errorf("%s: label %q, want %q", tt.name, got, tt.want)
		}
	}
}
