package ownership

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cloud-provider/api"
)

// edit changes a Node.
type edit func(*corev1.Node)

func nodeOf(id string, edits ...edit) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{}}, Spec: corev1.NodeSpec{ProviderID: id}}
	for _, change := range edits {
		change(n)
	}
	return n
}

func with(key, value string) edit { return func(n *corev1.Node) { n.Labels[key] = value } }

func waits(n *corev1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: api.TaintExternalCloudProvider})
}

func selects(text string) labels.Selector {
	s, err := labels.Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

var (
	silent   = Known{}
	learnt   = Known{Confirmed: map[string]bool{"hcloud": true, "aws": true, "azure": true, "gce": true}, HasIDs: true}
	byScheme = Claim{Schemes: []string{"hcloud"}, Providers: []string{"hcloud"}}
	byBoth   = Claim{Schemes: []string{"hcloud"}, Providers: []string{"hcloud"}, Selector: selects("!node.example.com/edge")}
	eks      = Claim{Schemes: []string{"aws"}, Selector: selects("eks.amazonaws.com/compute-type!=hybrid")}
	aks      = Claim{Selector: selects("kubernetes.azure.com/managed!=false")}
	gke      = Claim{Selector: selects("components.gke.io/gke-unmanaged-node!=true")}
	talos    = Claim{Selector: selects("node.cloudprovider.kubernetes.io/platform in (hcloud)")}
	strict   = Claim{Providers: []string{"hcloud"}, RestrictedLabels: true}
	named    = Claim{Providers: []string{"hcloud", "hetzner"}, Schemes: []string{"hcloud"}, Nodes: func(*corev1.Node) bool { return false }, Selector: selects("never=1")}
	filtered = Claim{Nodes: func(n *corev1.Node) bool { return n.Labels["pool"] != "theirs" }}
	// secure trusts only a label that no kubelet can set.
	secure = Claim{Selector: selects("fleet.node-restriction.kubernetes.io/cloud=a")}
)

// TestOwner checks the rule that decides who owns a Node.
func TestOwner(t *testing.T) {
	for _, c := range []struct {
		name  string
		claim Claim
		known Known
		node  *corev1.Node
		want  Owner
		doubt Doubt
	}{
		// Without flags, only labels disown a Node.
		{name: "ConfirmedScheme", known: learnt, node: nodeOf("hcloud://1"), want: Mine},
		{name: "SchemeThatWasNeverConfirmed", known: learnt, node: nodeOf("robot://7"), want: Unknown, doubt: NeverConfirmed},
		{name: "NothingIsConfirmedYet", known: silent, node: nodeOf("hcloud://1"), want: Unknown, doubt: NeverConfirmed},
		{name: "IDWithoutScheme", known: learnt, node: nodeOf("i-1"), want: Unknown, doubt: NeverConfirmed},
		{name: "ConfirmedIDWithoutScheme", known: Known{Confirmed: map[string]bool{"": true}}, node: nodeOf("i-1"), want: Mine},
		{name: "NodeThatWaits", known: learnt, node: nodeOf("", waits), want: Unknown},
		{name: "NodeThatWaitsWithAnID", known: learnt, node: nodeOf("hcloud://1", waits), want: Mine},
		{name: "MachineOfOnesOwn", known: learnt, node: nodeOf(""), want: Unknown, doubt: NeverInitialized},
		{name: "NodeOfAProviderWithoutIDs", known: silent, node: nodeOf(""), want: Unknown},
		{name: "K3sOfTheEmbeddedManager", known: learnt, node: nodeOf("k3s://server-0"), want: Unknown, doubt: NeverConfirmed},
		{name: "Kwok", known: learnt, node: nodeOf("kwok://fake-1", with("type", "kwok")), want: Unknown, doubt: NeverConfirmed},
		// Labels that exclude.
		{name: "Excluded", known: learnt, node: nodeOf("hcloud://1", with(LabelExclude, "")), want: Nobody},
		{name: "ExcludedByTheRestrictedLabel", known: learnt, node: nodeOf("hcloud://1", with(LabelExcludeRestricted, "")), want: Nobody},
		{name: "ExclusionThatSaysFalse", known: learnt, node: nodeOf("hcloud://1", with(LabelExclude, "false")), want: Mine},
		{name: "ExclusionComesBeforeTheProvidersName", claim: named, known: learnt, node: nodeOf("hcloud://1", with(LabelExclude, ""), with(LabelProvider, "hcloud")), want: Nobody},
		{name: "ExclusionComesBeforeTheScheme", claim: byScheme, node: nodeOf("hcloud://1", with(LabelExclude, "")), want: Nobody},
		{name: "KubeletExcludesItselfInVain", claim: strict, known: learnt, node: nodeOf("hcloud://1", with(LabelExclude, "")), want: Mine},
		{name: "OperatorExcludesWithTheFlag", claim: strict, known: learnt, node: nodeOf("hcloud://1", with(LabelExcludeRestricted, "")), want: Nobody},
		// Labels that name the provider.
		{name: "ProviderNone", claim: byScheme, known: learnt, node: nodeOf("hcloud://1", with(LabelProvider, "none")), want: Nobody},
		{name: "ProviderOfAnother", claim: byScheme, known: learnt, node: nodeOf("hcloud://1", with(LabelProvider, "aws")), want: Foreign},
		{name: "ProviderWithoutValue", claim: byScheme, known: learnt, node: nodeOf("hcloud://1", with(LabelProvider, "")), want: Foreign},
		{name: "ProviderOfThisDaemon", claim: byScheme, known: learnt, node: nodeOf("hcloud://1", with(LabelProvider, "hcloud")), want: Mine},
		{name: "SecondNameOfThisDaemon", claim: named, known: learnt, node: nodeOf("hcloud://1", with(LabelProvider, "hetzner")), want: Mine},
		{name: "NameStandsAboveTheFlags", claim: named, known: learnt, node: nodeOf("", waits, with(LabelProvider, "hcloud")), want: Unknown},
		{name: "NameMakesNoMachineDeletable", claim: named, known: learnt, node: nodeOf("", with(LabelProvider, "hcloud")), want: Unknown, doubt: NeverInitialized},
		{name: "NameOfADaemonWithoutNames", known: learnt, node: nodeOf("hcloud://1", with(LabelProvider, "hcloud")), want: Foreign},
		{name: "RestrictedNameComesFirst", claim: byScheme, known: learnt, node: nodeOf("hcloud://1", with(LabelProvider, "hcloud"), with(LabelProviderRestricted, "aws")), want: Foreign},
		{name: "KubeletNamesAnotherInVain", claim: strict, known: learnt, node: nodeOf("hcloud://1", with(LabelProvider, "aws")), want: Mine},
		{name: "OperatorNamesAnotherWithTheFlag", claim: strict, known: learnt, node: nodeOf("hcloud://1", with(LabelProviderRestricted, "none")), want: Nobody},
		// --own-provider-id-schemes.
		{name: "ListedScheme", claim: byScheme, known: silent, node: nodeOf("hcloud://1"), want: Mine},
		{name: "SchemeNotListed", claim: byScheme, known: learnt, node: nodeOf("robot://7"), want: Foreign},
		{name: "ConfirmedSchemeNotListed", claim: byScheme, known: learnt, node: nodeOf("aws:///eu-1a/i-1"), want: Foreign},
		{name: "NoSchemeNotListed", claim: byScheme, known: learnt, node: nodeOf("i-1"), want: Foreign},
		{name: "SchemeNotListedWhichWaits", claim: byScheme, known: learnt, node: nodeOf("robot://7", waits), want: Foreign},
		{name: "NodeThatWaitsIsAskedAbout", claim: byScheme, known: learnt, node: nodeOf("", waits), want: Unknown},
		{name: "MachineOfOnesOwnWithListedSchemes", claim: byScheme, known: learnt, node: nodeOf(""), want: Unknown, doubt: NeverInitialized},
		{name: "K3sIsNotListed", claim: byScheme, known: learnt, node: nodeOf("k3s://server-0"), want: Foreign},
		{name: "KwokIsNotListed", claim: byScheme, known: learnt, node: nodeOf("kwok://fake-1"), want: Foreign},
		{name: "EKSHybridIsNotListed", claim: eks, known: learnt, node: nodeOf("eks-hybrid:///eu-west-1/c/mi-1"), want: Foreign},
		{name: "EC2IsListed", claim: eks, known: learnt, node: nodeOf("aws:///eu-west-1a/i-1"), want: Mine},
		// --own-node-selector.
		{name: "EdgeThatWaits", claim: byBoth, known: learnt, node: nodeOf("", waits, with("node.example.com/edge", "")), want: Nobody},
		{name: "EdgeWithoutTaint", claim: byBoth, known: learnt, node: nodeOf("", with("node.example.com/edge", "")), want: Nobody},
		{name: "EdgeWithAListedScheme", claim: byBoth, known: learnt, node: nodeOf("hcloud://1", with("node.example.com/edge", "")), want: Foreign},
		{name: "SelectedButNotListed", claim: byBoth, known: learnt, node: nodeOf("robot://7"), want: Foreign},
		{name: "SelectedAndListed", claim: byBoth, known: learnt, node: nodeOf("hcloud://1"), want: Mine},
		{name: "SelectedNodeThatWaits", claim: byBoth, known: learnt, node: nodeOf("", waits), want: Unknown},
		{name: "SelectedMachineOfOnesOwn", claim: byBoth, known: learnt, node: nodeOf(""), want: Unknown, doubt: NeverInitialized},
		{name: "EKSHybridThatWaits", claim: eks, known: learnt, node: nodeOf("", waits, with("eks.amazonaws.com/compute-type", "hybrid")), want: Nobody},
		{name: "AKSUnmanaged", claim: aks, known: learnt, node: nodeOf("", with("kubernetes.azure.com/managed", "false")), want: Nobody},
		{name: "AKSUnmanagedWithAnID", claim: aks, known: learnt, node: nodeOf("k3s://arc", with("kubernetes.azure.com/managed", "false")), want: Foreign},
		{name: "AKSManaged", claim: aks, known: learnt, node: nodeOf("azure:///subscriptions/s"), want: Mine},
		{name: "SelectedOfASchemeThatWasNeverConfirmed", claim: aks, known: silent, node: nodeOf("azure:///subscriptions/s"), want: Unknown, doubt: NeverConfirmed},
		{name: "GKEUnmanaged", claim: gke, known: learnt, node: nodeOf("baremetal://1", with("components.gke.io/gke-unmanaged-node", "true")), want: Foreign},
		{name: "GKEManaged", claim: gke, known: learnt, node: nodeOf("gce://p/z/i"), want: Mine},
		{name: "TalosOfThisPlatform", claim: talos, known: learnt, node: nodeOf("hcloud://1", with("node.cloudprovider.kubernetes.io/platform", "hcloud")), want: Mine},
		{name: "TalosOnMetal", claim: talos, known: learnt, node: nodeOf("", waits, with("node.cloudprovider.kubernetes.io/platform", "metal")), want: Nobody},
		{name: "TalosWithoutPlatform", claim: talos, known: learnt, node: nodeOf("", waits), want: Nobody},
		{name: "SelectorThatKubeletsCannotMeet", claim: secure, known: learnt, node: nodeOf("hcloud://1", with("cloud", "a")), want: Foreign},
		{name: "SelectorOfTheOperator", claim: secure, known: learnt, node: nodeOf("hcloud://1", with("fleet.node-restriction.kubernetes.io/cloud", "a")), want: Mine},
		// The program's filter.
		{name: "FilterLeavesOut", claim: filtered, known: learnt, node: nodeOf("gce://p/z/i", with("pool", "theirs")), want: Foreign},
		{name: "FilterKeeps", claim: filtered, known: learnt, node: nodeOf("gce://p/z/i"), want: Mine},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.claim.Owner(c.node, c.known)
			if got.Owner != c.want || got.Doubt != c.doubt || got.Why == "" {
				t.Errorf("got %+v, want %s with the doubt %q", got, c.want, c.doubt)
			}
			why, disowned := c.claim.Disowns(c.node)
			if want := c.want == Foreign || c.want == Nobody; disowned != want || disowned != (why != "") {
				t.Errorf("disowned: %v (%q), want %v", disowned, why, want)
			}
			if label := c.claim.Label(c.node); label != "" && !disowned {
				t.Errorf("label %s disowns a Node that is not disowned", label)
			}
		})
	}
}

// Without flags, a Node is disowned only by the labels of this package, and not by
// its provider ID or by another label.
func TestWithoutFlagsOnlyLabelsDisown(t *testing.T) {
	for _, id := range []string{"", "i-1", "hcloud://1", "robot://7", "eks-hybrid:///r/c/n", "k3s://x", "kwok://x"} {
		for _, n := range []*corev1.Node{nodeOf(id), nodeOf(id, waits), nodeOf(id, with("kubernetes.azure.com/managed", "false"))} {
			if why, disowned := (Claim{Providers: []string{"hcloud"}}).Disowns(n); disowned {
				t.Errorf("%q is disowned: %s", id, why)
			}
		}
	}
}
