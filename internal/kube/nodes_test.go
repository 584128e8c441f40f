package kube

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestNodePatchTestsWhatItChangesAndCarriesNothingElse(t *testing.T) {
	set := "z1"
	taint := corev1.Taint{Key: "k", Effect: corev1.TaintEffectNoSchedule}
	node := func(labels map[string]string, taints ...corev1.Taint) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", Labels: labels}, Spec: corev1.NodeSpec{Taints: taints}}
	}
	const uid = `{"op":"test","path":"/metadata/uid","value":"u"}`
	for _, tt := range []struct {
		name string
		body any
		want string
	}{
		{"NothingButIdentity", NodePatch{Node: node(nil)}.operations(), `[` + uid + `]`},
		{
			"ProviderIDIsSet", NodePatch{Node: node(nil), ProviderID: "p://1"}.operations(),
			`[` + uid + `,{"op":"add","path":"/spec/providerID","value":"p://1"}]`,
		},
		{
			"CIDRsAreSetTogetherAndNeverChanged", NodePatch{Node: node(nil), PodCIDRs: []string{"10.0.1.0/24", "fd00::/64"}, Annotations: map[string]*string{"a": nil}}.operations(),
			`[` + uid + `,{"op":"test","path":"/spec/podCIDRs","value":null},{"op":"test","path":"/metadata/annotations","value":null},` +
				`{"op":"add","path":"/spec/podCIDR","value":"10.0.1.0/24"},{"op":"add","path":"/spec/podCIDRs","value":["10.0.1.0/24","fd00::/64"]},{"op":"add","path":"/metadata/annotations","value":{}}]`,
		},
		{
			"LastTaintRemovesTheField", NodePatch{Node: node(nil, taint), Taints: &[]corev1.Taint{}}.operations(),
			`[` + uid + `,{"op":"test","path":"/spec/taints","value":[{"key":"k","effect":"NoSchedule"}]},{"op":"add","path":"/spec/taints","value":null}]`,
		},
		{
			"OtherTaintsStay", NodePatch{Node: node(nil), Taints: &[]corev1.Taint{taint}}.operations(),
			`[` + uid + `,{"op":"test","path":"/spec/taints","value":null},{"op":"add","path":"/spec/taints","value":[{"key":"k","effect":"NoSchedule"}]}]`,
		},
		{
			"LabelsAreTestedOneByOne", NodePatch{Node: node(map[string]string{"a": "1", "x/b~": "1"}), Labels: map[string]*string{"a": &set, "new": &set, "x/b~": nil}}.operations(),
			`[` + uid + `,{"op":"test","path":"/metadata/labels/a","value":"1"},{"op":"test","path":"/metadata/labels/new","value":null},{"op":"test","path":"/metadata/labels/x~1b~0","value":"1"},` +
				`{"op":"add","path":"/metadata/labels/a","value":"z1"},{"op":"add","path":"/metadata/labels/new","value":"z1"},{"op":"remove","path":"/metadata/labels/x~1b~0"}]`,
		},
		{
			"MapThatIsNotThereIsMade", NodePatch{Node: node(nil), Annotations: map[string]*string{"a": &set}}.operations(),
			`[` + uid + `,{"op":"test","path":"/metadata/annotations","value":null},{"op":"add","path":"/metadata/annotations","value":{}},{"op":"add","path":"/metadata/annotations/a","value":"z1"}]`,
		},
		{"LabelThatIsGoneIsNotRemoved", NodePatch{Node: node(map[string]string{"a": "1"}), Labels: map[string]*string{"b": nil}}.operations(), `[` + uid + `,{"op":"test","path":"/metadata/labels/b","value":null}]`},
		{
			"AddressesReplaceTheList",
			NodeStatusPatch{UID: "u", Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.1.1"}}}.body(),
			`{"metadata":{"uid":"u"},"status":{"addresses":[{"type":"InternalIP","address":"127.0.1.1"},{"$patch":"replace"}]}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTrimDropsWhatNoRuleReads(t *testing.T) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
		Spec:       corev1.NodeSpec{ProviderID: "p://1"},
		Status: corev1.NodeStatus{
			Images:          []corev1.ContainerImage{{Names: []string{"i"}}},
			VolumesInUse:    []corev1.UniqueVolumeName{"v"},
			VolumesAttached: []corev1.AttachedVolume{{Name: "v"}},
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "n"}},
		},
	}
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}},
		Spec:       corev1.NodeSpec{ProviderID: "p://1"},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "n"}}},
	}
	got, err := trim(nil)(node)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trimmed node (-want +got):\n%s", diff)
	}
	if got, err := trim(nil)("no object"); err != nil || got != "no object" {
		t.Errorf("trim of another shape = %v, %v, want it unchanged", got, err)
	}
}

// If a thousand Nodes are written before the watch delivers them, Cached returns
// the written Nodes.
func TestOwnWritesAreSeenWhileTheInformerIsBehind(t *testing.T) {
	const nodes = 1000
	client := fake.NewClientset()
	client.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: a.(clienttesting.PatchAction).GetName(), ResourceVersion: "2"},
			Spec:       corev1.NodeSpec{ProviderID: "p://written"},
		}, nil
	})
	informer := informers.NewSharedInformerFactory(client, 0).Core().V1().Nodes() // This informer is never started.
	all := NewNodes(t.Context(), client, informer)
	for i := range nodes {
		before := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), ResourceVersion: "1"}}
		if err := informer.Informer().GetStore().Add(before); err != nil {
			t.Fatal(err)
		}
		if _, err := all.Patch(t.Context(), NodePatch{Node: before, ProviderID: "p://written"}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range nodes {
		switch node, err := all.Cached(fmt.Sprint("n", i)); {
		case err != nil:
			t.Fatal(err)
		case node.Spec.ProviderID == "":
			t.Fatalf("node %d is seen as it was before it was written", i)
		}
	}
}
