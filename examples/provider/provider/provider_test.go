package provider

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// first is the provider ID of the first instance of each test.
const first = Name + "://sim-1/i-00000001"

// fixture is a provider and its cloud.
type fixture struct {
	provider  cloudprovider.Interface
	instances cloudprovider.InstancesV2
	// operator changes the cloud and sets its faults. The faults do not affect the
	// operator's own calls.
	operator *simulator.Client
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	simulated, err := simulator.New(simulator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(simulated)
	t.Cleanup(server.Close)
	return open(t, server.URL)
}

// open makes the provider as the daemon does.
func open(t *testing.T, url string) fixture {
	t.Helper()
	made, err := cloudprovider.GetCloudProvider(Name, strings.NewReader("endpoint: "+url))
	if err != nil {
		t.Fatal(err)
	}
	v2, ok := made.InstancesV2()
	if !ok {
		t.Fatal("no InstancesV2")
	}
	return fixture{provider: made, instances: v2, operator: simulator.NewClient(url).Operator()}
}

func (f fixture) create(t *testing.T, i simulator.Instance) {
	t.Helper()
	if _, err := f.operator.CreateInstance(t.Context(), i); err != nil {
		t.Fatal(err)
	}
}

func node(name, providerID string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestMetadata(t *testing.T) {
	f := newFixture(t)
	f.create(t, simulator.Instance{
		Name: "node-1", Zone: "sim-1b", Type: "large", Labels: map[string]string{"rack": "r1"},
		Addresses: []simulator.Address{
			{Type: simulator.InternalIP, Address: "127.0.1.1"},
			{Type: simulator.ExternalIP, Address: "203.0.113.1"},
		},
	})
	f.create(t, simulator.Instance{Name: "node-2"})
	want := &cloudprovider.InstanceMetadata{
		ProviderID: first, InstanceType: "large", Zone: "sim-1b", Region: "sim-1",
		NodeAddresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: "127.0.1.1"},
			{Type: corev1.NodeExternalIP, Address: "203.0.113.1"},
		},
		AdditionalLabels: map[string]string{"rack": "r1"},
	}
	for name, asked := range map[string]*corev1.Node{
		"ByName":                 node("node-1", ""),
		"ByProviderID":           node("node-1", first),
		"ProviderIDWinsOverName": node("node-2", first),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := f.instances.InstanceMetadata(t.Context(), asked)
			diff(t, "error", nil, err)
			diff(t, "metadata", want, got)
		})
	}
}
