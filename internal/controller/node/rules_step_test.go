package node

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

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
			name: "AddressesFollow", node: settled(), policy: follows, answer: machine(offering(internal)),
			want: updates("addresses", func(o *outcome) { o.Addresses = []corev1.NodeAddress{internal, hostname} }),
		},
		{name: "OrderOfAddressesStays", node: settled(), policy: follows, answer: machine(offering(external, internal)), want: calm},
		{
			name: "OrderThatTheKubeletWasToldFollows", node: settled(annotation(api.AnnotationAlphaProvidedIPAddr, "fd00::1,127.0.1.1"), addresses(internal, internal6, hostname)),
			policy: follows, answer: machine(offering(internal, internal6)),
			want: updates("addresses", func(o *outcome) { o.Addresses = []corev1.NodeAddress{internal6, internal, hostname} }),
		},
		{
			name: "OrderOfOtherAddressesStaysBesideTheChosenOne", node: settled(annotation(api.AnnotationAlphaProvidedIPAddr, "127.0.1.1"), addresses(internal, external, external6, hostname)),
			policy: follows, answer: machine(offering(external6, internal, external)), want: calm,
		},
		{name: "LastIPAddressStays", node: settled(), policy: follows, answer: machine(offering(hostname)), want: calm},
		{name: "LastInternalIPAddressStays", node: settled(), policy: follows, answer: machine(offering(external)), want: calm},
		{
			name: "SecondAnswerWithoutIPAddressIsSaid", node: settled(), policy: follows, answer: machine(offering(hostname)),
			memory: memory{uid: "u1", withoutIP: 1, withoutIPSince: noon}, want: warned("CloudAddressesMissing"),
		},
		{name: "AddressThatIsNoneChangesNothing", node: settled(), policy: follows, answer: machine(offering(internal, nothing)), want: warned("CloudAddressesRejected")},
		{name: "InstanceOfTwoNodesThatReportIsSaid", node: settled(), policy: follows, answer: machine(), twin: "n2", want: warned("CloudInstanceShared")},
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
		{
			name: "TwinsAreNotWrittenAgainAtOnce", node: settled(label(corev1.LabelFailureDomainBetaZone, "z9")),
			memory: memory{uid: "u1", twinsAt: noon.Add(-time.Minute)}, want: calm,
		},
		{name: "ChangedZoneIsReportedAndNotWritten", node: settled(), answer: machine(func(i *instance) { i.zone = "z2" }), policy: follows, want: warned("CloudLocationChanged")},
		{name: "ChangedRegionIsReportedAndNotWritten", node: settled(), answer: machine(func(i *instance) { i.region = "r2" }), policy: follows, want: warned("CloudLocationChanged")},
		{
			name: "ChangedZoneIsReportedOnce", node: settled(), answer: machine(func(i *instance) { i.zone = "z2" }), policy: follows,
			memory: memory{uid: "u1", notices: hasMoved("zone", "z1", "z2").Message}, want: calm,
		},
		{name: "InstanceOfAnotherNodeIsReportedAndNothingWritten", node: settled(), answer: machine(func(i *instance) { i.providerID, i.size = "p://2", "large" }), holder: "n2", policy: follows, want: warned("CloudInstanceMismatch")},
		{name: "AnotherSpellingIsReportedIfTheFlagSaysSo", node: settled(), answer: machine(func(i *instance) { i.providerID, i.size = "p://r1/1", "large" }), strict: true, policy: follows, want: warned("CloudInstanceMismatch")},
		{
			name: "AnotherSpellingOfTheProviderIDIsFollowed", node: settled(), policy: follows,
			answer: machine(func(i *instance) { i.providerID, i.size = "p://r1/1", "large" }),
			want:   updates("labels", func(o *outcome) { o.Labels = grown }),
		},
		{
			name: "NodeIPThatIsNoLongerOfferedKeepsTheAddresses", node: settled(annotation(api.AnnotationAlphaProvidedIPAddr, "127.0.1.1")),
			answer: machine(func(i *instance) { i.addresses = []corev1.NodeAddress{external} }), want: warned("CloudAddressesRejected"),
		},
		{name: "AddressesThatAreNotReadAreReported", node: settled(), answer: machine(func(i *instance) { i.moreAddresses = true }), want: warned("CloudInstanceTruncated")},
		{name: "LabelsThatAreNotReadAreReported", node: settled(), answer: machine(func(i *instance) { i.moreLabels = true }), want: warned("CloudInstanceTruncated")},
		{
			name: "TruncatedInstanceIsReportedOnce", node: settled(), answer: machine(func(i *instance) { i.moreAddresses = true }),
			memory: memory{uid: "u1", notices: isTruncated(instance{moreAddresses: true}).Message}, want: calm,
		},
		{
			name: "NodeWithoutProviderIDGetsAddressesAndNoLabels", node: settled(func(n *corev1.Node) { n.Spec.ProviderID = "" }), policy: follows,
			answer: machine(func(i *instance) { i.size, i.addresses = "large", []corev1.NodeAddress{internal} }),
			want:   updates("addresses", func(o *outcome) { o.Addresses = []corev1.NodeAddress{internal, hostname} }),
		},
		{
			name: "NamelessNodeGetsLabelsToo", node: settled(func(n *corev1.Node) { n.Spec.ProviderID = "" }), policy: follows,
			answer: machine(func(i *instance) { i.providerID, i.nameless, i.size = "", true, "large" }),
			want:   updates("labels", func(o *outcome) { o.Labels = grown }),
		},
		{
			name: "UpdateThatIsRefusedIsReported", node: settled(), unwritten: message.Cause{Reason: "WriteRejected", Message: "because"}, answer: machine(),
			want: outcome{Do: wait, Why: "because", Events: []string{"CloudUpdateFailed"}},
		},
		{
			name: "UpdateThatIsRefusedAgainIsReportedOnce", node: settled(), unwritten: message.Cause{Reason: "WriteRejected", Message: "because of that"}, answer: machine(),
			memory: memory{uid: "u1", notices: "CloudUpdateFailed: WriteRejected"}, want: outcome{Do: wait, Why: "because of that"},
		},
		{
			name: "ConditionOfAWaitThatIsOverIsRemoved", node: settled(shows(corev1.ConditionFalse, "CloudDenied", "because", noon)),
			want: updates("condition", func(o *outcome) { o.Condition = "removed" }),
		},
		{name: "ConditionThatIsTrueStaysUntilTheCloudHasAnswered", node: settled(shows(corev1.ConditionTrue, "Initialized", "", noon)), want: calm},
		{
			name: "DifferencesAreNamedTogether", node: settled(label(corev1.LabelFailureDomainBetaZone, "z9"), shows(corev1.ConditionFalse, "X", "", noon)),
			want: updates("labels and condition", func(o *outcome) {
				o.Labels, o.Condition = map[string]*string{corev1.LabelTopologyZone: new("z9")}, "removed"
			}),
		},
	})
}

// A cloud that names more of an instance than is read does so in each answer, and the
// numbers differ. The event comes once: with the release, or with the first answer after
// a restart.
func TestTruncatedInstanceIsReportedOnce(t *testing.T) {
	truncated := machine(func(i *instance) { i.moreAddresses, i.moreLabels = true, true })
	for name, start := range map[string]*corev1.Node{"NewNode": fresh(), "InitialisedNode": settled()} {
		t.Run(name, func(t *testing.T) {
			w := &world{node: start, now: noon}
			var events []string
			for range 5 {
				for _, e := range w.step(truncated, 2).events {
					events = append(events, e.Reason)
				}
				for _, e := range w.step(answer{}, 2).events { // a pass without an answer
					events = append(events, e.Reason)
				}
			}
			events = slices.DeleteFunc(events, func(reason string) bool { return reason == synced.Name })
			if diff := cmp.Diff([]string{instanceTruncated.Name}, events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
