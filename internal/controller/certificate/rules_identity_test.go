package certificate

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

func marked(uid, id string) func(*observed) {
	return func(o *observed) {
		o.node = node("a", func(n *corev1.Node) {
			n.Labels[nodefact.LabelIdentity] = nodefact.Identity(n.UID, id)
			if uid != "" {
				n.Labels[nodefact.LabelIdentity] = nodefact.Identity("u-other", id)
			}
		})
		o.answer.to = questionOf(*o)
	}
}

func on(n *corev1.Node) func(*observed) {
	return func(o *observed) { o.node = n; o.answer.to = questionOf(*o) }
}

func heldBy(others ...*corev1.Node) func(*observed) {
	return func(o *observed) { o.holders = others }
}

// TestIdentity checks the rules about the Node and its instance.
func TestIdentity(t *testing.T) {
	r := csr(t)
	full := []string{"10.0.0.1", "a.cloud"}
	deleted := node("a", func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} })
	excluded := node("a", func(n *corev1.Node) { n.Labels[ownership.LabelExcludeRestricted] = "" })
	check(t, []row{
		{"ProvenByNameAndByID", situation(r), "approve FairleadKubeletServing", "p://a"},
		{"NodeThatWaitsToBeInitialisedIsProvenByItsName", situation(r, on(node("a", providerID(""))), answers(machine("p://a", full...), nil)), "approve FairleadKubeletServing", ""},
		{"NotReadFromTheAPIServerIsRead", situation(r, func(o *observed) { o.live = false }), "read from the API server", ""},
		{"NotAskedIsAsked", situation(r, unasked), "ask the cloud", ""},
		{"AnswerToAnotherRequestIsNoAnswer", situation(r, func(o *observed) { o.answer.to.request = "u-older" }), "ask the cloud", ""},
		{"AnswerAboutAnotherNodeIsNoAnswer", situation(r, func(o *observed) { o.answer.to.node = "u-older" }), "ask the cloud", ""},
		{"AnswerAboutAnotherProviderIDIsNoAnswer", situation(r, func(o *observed) { o.answer.to.providerID = "" }), "ask the cloud", ""},
		{"NoNode", situation(r, func(o *observed) { o.node = nil }), "wait NoNode", `"a"`},
		{"NodeIsBeingDeleted", situation(r, on(deleted)), "wait NoNode", "being deleted"},
		{"NodeIsNotMine", situation(r, on(excluded)), "wait NoNode", "exclude"},
		{"NodeThatIsNotMineIsNotDenied", situation(csr(t, names("*.a")), on(excluded), denies), "wait NoNode", "exclude"},
		{"AnotherNodeHasTheProviderID", situation(r, heldBy(node("b"))), "wait IdentityContested", "a and b"},
		{"ContestedIsNotAskedAbout", situation(r, heldBy(node("b")), unasked), "wait IdentityContested", ""},
		{"NoInstanceOfThatName", situation(r, refusal(denied, identityUnproven.Name)), "wait IdentityUnproven", ""},
		{"CloudCannotBeAsked", situation(r, refusal(failed, "CloudUnavailable")), "wait CloudUnavailable", ""},
		{"NameAndIDLeadToTwoInstances", situation(r, answers(machine("p://a", full...), machine("p://b", full...))), "wait IdentityUnproven", "p://b"},
		{"ProviderNamesNoID", situation(r, answers(machine("", full...), nil)), "wait IdentityUnproven", "does not name"},
		{"ProviderIDAloneProvesNothing", situation(r, answers(nil, machine("p://a", full...))), "wait IdentityUnproven", "cannot look up"},
		{"NothingProvesNothing", situation(r, answers(nil, nil)), "wait IdentityUnproven", "cannot look up"},
		{"ProviderIDThatThisManagerHasWritten", situation(r, marked("", "p://a"), answers(nil, machine("p://a", full...))), "approve FairleadKubeletServing", ""},
		{"MarkOfAnotherProviderID", situation(r, marked("", "p://b"), answers(nil, machine("p://a", full...))), "wait IdentityUnproven", "label"},
		{"MarkOfAnotherNode", situation(r, marked("u-other", "p://a")), "wait IdentityUnproven", "label"},
		{"MarkWithoutAnyInstance", situation(r, marked("", "p://a"), answers(nil, nil)), "wait IdentityUnproven", ""},
	})
}

// TestNames checks the rules about the names and addresses.
func TestNames(t *testing.T) {
	lie := answers(machine("p://a", "10.0.0.1", "10.0.0.9"), machine("p://a", "10.0.0.1"))
	status := on(node("a", func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "b"}, {Type: corev1.NodeInternalIP, Address: "10.0.0.9"}}
		n.Annotations = map[string]string{"alpha.kubernetes.io/provided-node-ip": "10.0.0.9"}
	}))
	six := answers(machine("p://a", "fd00::1", "::ffff:10.0.0.1"), nil)
	check(t, []row{
		{"AddressOfAnotherInstance", situation(csr(t, addresses("10.0.0.1", "10.0.0.9"))), "wait AddressUnproven", "10.0.0.9 is not an address of p://a (it has: 10.0.0.1, a.cloud)"},
		{"NameOfTheInstance", situation(csr(t, names("a", "A.cloud"))), "approve FairleadKubeletServing", ""},
		{"NameOfAnotherInstance", situation(csr(t, names("a", "b.cloud"))), "wait AddressUnproven", "b.cloud"},
		{"PrefixOfTheNodesName", situation(csr(t, names("aa"))), "wait AddressUnproven", "aa"},
		{"NodesNameInCapitalsIsAnotherName", situation(csr(t, names("A"))), "wait AddressUnproven", ""},
		{"ParentOfAName", situation(csr(t, names("cloud"))), "wait AddressUnproven", "cloud"},
		{"AddressAsAName", situation(csr(t, names("10.0.0.1"))), "wait AddressUnproven", ""},
		{"AddressInTheStatusOnly", situation(csr(t, names("a", "b"), addresses("10.0.0.1")), status), "wait AddressUnproven", "b is not"},
		{"AddressInTheAnnotationOnly", situation(csr(t, addresses("10.0.0.9")), status), "wait AddressUnproven", "10.0.0.9"},
		{"AddressInOneOfTwoAnswers", situation(csr(t, addresses("10.0.0.9")), lie), "wait AddressUnproven", "10.0.0.9"},
		{"IPv6", situation(csr(t, addresses("fd00:0::1", "10.0.0.1")), six), "approve FairleadKubeletServing", ""},
		{"InstanceWithoutAddresses", situation(csr(t), answers(machine("p://a"), nil)), "wait AddressUnproven", ""},
		{"ManyAddressesAreNotAllNamed", situation(csr(t, addresses("10.9.9.9")), answers(machine("p://a", "1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4", "1.1.1.5", "1.1.1.6", "1.1.1.7", "1.1.1.8", "1.1.1.9"), nil)), "wait AddressUnproven", "and 1 more"},
	})
}

// TestDenied checks the plans for wrong requests with --deny-foreign-csr.
func TestDenied(t *testing.T) {
	check(t, []row{
		{"WrongUsagesAreReadFromTheAPIServerFirst", situation(csr(t, usages()), denies, unasked), "read from the API server", ""},
		{"WrongUsages", situation(csr(t, usages()), denies), "deny WrongUsages", ""},
		{"NoPEM", situation(csr(t, text(func(string) string { return "x" })), denies), "deny MalformedRequest", ""},
		{"UserIsNoNode", situation(csr(t, of("alice")), denies, func(o *observed) { o.node = nil }), "deny WrongSubject", ""},
		{"AddressOfAnotherInstance", situation(csr(t, addresses("10.0.0.9")), denies), "deny AddressUnproven", ""},
		{"NoNodeWaits", situation(csr(t), denies, func(o *observed) { o.node = nil }), "wait NoNode", ""},
		{"UnprovenIdentityWaits", situation(csr(t), denies, refusal(denied, identityUnproven.Name)), "wait IdentityUnproven", ""},
		{"CloudThatCannotBeAskedWaits", situation(csr(t), denies, refusal(failed, "CloudSlow")), "wait CloudSlow", ""},
		{"ContestedWaits", situation(csr(t), denies, heldBy(node("b"))), "wait IdentityContested", ""},
		{"ProperRequestIsApproved", situation(csr(t), denies), "approve FairleadKubeletServing", ""},
	})
}

func TestApprovalSaysWhatItRestsOn(t *testing.T) {
	o := situation(csr(t), func(o *observed) { o.answer.asked = noon.Add(-120 * time.Millisecond) })
	check(t, []row{{"Age", o, "approve FairleadKubeletServing", "asked 120ms before"}})
}
