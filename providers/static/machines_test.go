package static

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

const example = `
nodes:
- selector: {matchLabels: {node.example.com/edge: "", example.com/old: "true"}}
  type: old
- selector: {matchLabels: {node.example.com/edge: ""}}
  region: home
  zone: rack-1
  type: nuc
  labels: {example.com/power: solar}
  externalIPs: fromAnnotation example.com/public-ip
`

// edge returns a Node as a kubelet of the rack registers it.
func edge(edits ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "nuc-1", Labels: map[string]string{"node.example.com/edge": "", corev1.LabelHostname: "nuc-1"},
			Annotations: map[string]string{"alpha.kubernetes.io/provided-node-ip": "192.168.1.7"},
		},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "nuc-1"}}},
	}
	for _, edit := range edits {
		edit(node)
	}
	return node
}

func label(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func annotation(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Annotations[key] = value }
}

func withID(id string) func(*corev1.Node) { return func(n *corev1.Node) { n.Spec.ProviderID = id } }

func wrote(addresses ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		delete(n.Annotations, "alpha.kubernetes.io/provided-node-ip")
		for _, a := range addresses {
			n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
		}
	}
}

func TestMetadata(t *testing.T) {
	const template, keep = "providerID: static://home/{{name}}", "providerID: keep"
	for name, row := range map[string]struct {
		ids  string
		node *corev1.Node
		want string
	}{
		"FirstEntryThatSelects":     {template, edge(label("example.com/old", "true")), "static://home/nuc-1 old / map[] InternalIP=192.168.1.7"},
		"AllThatAnEntrySays":        {template, edge(), "static://home/nuc-1 nuc home/rack-1 map[example.com/power:solar] InternalIP=192.168.1.7"},
		"NotSelected":               {template, edge(func(n *corev1.Node) { delete(n.Labels, "node.example.com/edge") }), "not found: no entry of nodes in --cloud-config selects node nuc-1"},
		"LabelsAreNotKnown":         {template, edge(func(n *corev1.Node) { n.Labels = nil }), "not implemented: node nuc-1 has no labels"},
		"OwnID":                     {template, edge(withID("static://home/nuc-1")), "static://home/nuc-1 nuc"},
		"IDOfAFormerTemplateStays":  {template, edge(withID("static://attic/nuc-1")), "static://attic/nuc-1 nuc"},
		"IDOfAnotherProvider":       {template, edge(withID("hcloud://7")), `not found: node nuc-1 has the provider ID "hcloud://7", which belongs to another provider`},
		"SchemeThatOnlyBeginsAlike": {template, edge(withID("static-two://7")), "not found: "},
		"IDIsKept":                  {keep, edge(withID("k3s://nuc-1")), "k3s://nuc-1 nuc"},
		"NoIDToKeep":                {keep, edge(), "invalid: node nuc-1 has no provider ID, and providerID in --cloud-config is keep: start its kubelet with --provider-id"},
		"TwoFamilies":               {template, edge(annotation("alpha.kubernetes.io/provided-node-ip", "192.168.1.7,fd00::7")), "solar] InternalIP=192.168.1.7 InternalIP=fd00::7"},
		"AddressOfTheKubelet":       {template, edge(wrote("10.0.0.7", "fd00::8")), "solar] InternalIP=10.0.0.7 InternalIP=fd00::8"},
		"KubeletSaysNonsense":       {template, edge(wrote("10.0.0.7"), annotation("alpha.kubernetes.io/provided-node-ip", "nonsense")), "solar] InternalIP=10.0.0.7"},
		"NoAddress":                 {template, edge(wrote()), "invalid: node nuc-1 has no internal IP address: start its kubelet with --node-ip"},
		"ExternalAddresses":         {template, edge(annotation("example.com/public-ip", "203.0.113.7, 2001:DB8::7")), "InternalIP=192.168.1.7 ExternalIP=203.0.113.7 ExternalIP=2001:db8::7"},
		"ExternalAddressIsWrong":    {template, edge(annotation("example.com/public-ip", "203.0.113")), `invalid: annotation example.com/public-ip of node nuc-1: "203.0.113" is not an IP address of a machine`},
		"ExternalAddressIsAll":      {template, edge(annotation("example.com/public-ip", "0.0.0.0")), "invalid: annotation example.com/public-ip"},
		"ExternalAddressHasAZone":   {template, edge(annotation("example.com/public-ip", "fe80::1%eth0")), "invalid: annotation example.com/public-ip"},
		"ExternalAddressIsEmpty":    {template, edge(annotation("example.com/public-ip", " ")), "solar] InternalIP=192.168.1.7"},
	} {
		t.Run(name, func(t *testing.T) {
			c := given(t, example+row.ids)
			instances, _ := c.InstancesV2()
			before := row.node.DeepCopy()
			m, err := instances.InstanceMetadata(t.Context(), row.node)
			got := said(m, err)
			exact := strings.HasSuffix(row.want, "7") || strings.HasSuffix(row.want, "8")
			if !strings.Contains(got, row.want) || exact && !strings.HasSuffix(got, row.want) {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			if d := cmp.Diff(before, row.node); d != "" {
				t.Errorf("the Node is changed:\n%s", d)
			}
		})
	}
}

func given(t *testing.T, config string) *Cloud {
	t.Helper()
	c, err := New(strings.NewReader(config))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// said formats an answer as one line.
func said(m *cloudprovider.InstanceMetadata, err error) string {
	switch {
	case errors.Is(err, cloudprovider.InstanceNotFound):
		return "not found: " + err.Error()
	case errors.Is(err, cloudprovider.NotImplemented):
		return "not implemented: " + err.Error()
	case provider.Classify(fmt.Errorf("wrapped: %w", err)).Kind == provider.Invalid:
		return "invalid: " + err.Error()
	case err != nil:
		return "unclassified: " + err.Error()
	}
	parts := []string{fmt.Sprintf("%s %s %s/%s %v", m.ProviderID, m.InstanceType, m.Region, m.Zone, m.AdditionalLabels)}
	for _, a := range m.NodeAddresses {
		parts = append(parts, string(a.Type)+"="+a.Address)
	}
	return strings.Join(parts, " ")
}

// For every Node and every file, the provider never says that a machine is gone or
// shut down.
func TestNothingIsEverGone(t *testing.T) {
	instances, _ := given(t, example+"providerID: keep").InstancesV2()
	for _, node := range []*corev1.Node{edge(), edge(withID("hcloud://7")), {ObjectMeta: metav1.ObjectMeta{Name: "other"}}, {}} {
		if exists, err := instances.InstanceExists(t.Context(), node); !exists || err != nil {
			t.Errorf("node %q: exists %v, error %v", node.Name, exists, err)
		}
		if down, err := instances.InstanceShutdown(t.Context(), node); down || !errors.Is(err, cloudprovider.NotImplemented) {
			t.Errorf("node %q: shut down %v, error %v", node.Name, down, err)
		}
	}
}

// The caller may change the answers that it gets.
func TestAnswersShareNothing(t *testing.T) {
	instances, _ := given(t, example+id).InstancesV2()
	first, err := instances.InstanceMetadata(t.Context(), edge())
	if err != nil {
		t.Fatal(err)
	}
	first.AdditionalLabels["example.com/power"], first.NodeAddresses[0].Address = "changed", "changed"
	second, err := instances.InstanceMetadata(t.Context(), edge())
	if err != nil || second.AdditionalLabels["example.com/power"] != "solar" || second.NodeAddresses[0].Address != "192.168.1.7" {
		t.Errorf("got %+v, error %v", second, err)
	}
}

func TestProviderOffersNodesOnly(t *testing.T) {
	registered, err := cloudprovider.GetCloudProvider(Name, strings.NewReader(example+id))
	if err != nil || registered.ProviderName() != Name || !registered.HasClusterID() {
		t.Fatalf("got %v, error %v", registered, err)
	}
	registered.Initialize(nil, nil)
	offers := map[string]bool{}
	_, offers["InstancesV2"] = registered.InstancesV2()
	_, offers["Instances"] = registered.Instances()
	_, offers["Zones"] = registered.Zones()
	_, offers["LoadBalancer"] = registered.LoadBalancer()
	_, offers["Routes"] = registered.Routes()
	_, offers["Clusters"] = registered.Clusters()
	want := map[string]bool{"InstancesV2": true, "Instances": false, "Zones": false, "LoadBalancer": false, "Routes": false, "Clusters": false}
	if d := cmp.Diff(want, offers); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
