package provider

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// first is the provider ID of the first instance of each test.
const first = Name + "://sim-1/i-00000001"

// fixture is the provider, and the cloud that it speaks to.
type fixture struct {
	provider  cloudprovider.Interface
	instances cloudprovider.InstancesV2
	// operator changes the cloud and sets its faults. Its own calls meet no faults.
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

// TestPresence checks the answers about a Node for each state of its instance. Only
// "absent" allows the deletion of the Node.
func TestPresence(t *testing.T) {
	type change func(f fixture) error
	var (
		stop      change = func(f fixture) error { return f.operator.StopInstance(t.Context(), "i-00000001") }
		terminate change = func(f fixture) error { return f.operator.TerminateInstance(t.Context(), "i-00000001") }
		rename    change = func(f fixture) error {
			_, err := f.operator.UpdateInstance(t.Context(), "i-00000001", simulator.InstancePatch{Name: new("other")})
			return err
		}
		twin change = func(f fixture) error {
			_, err := f.operator.CreateInstance(t.Context(), simulator.Instance{Name: "node-1"})
			return err
		}
	)
	const present, absent, refused = "present", "absent", "refused"
	for name, row := range map[string]struct {
		change   change
		node     *corev1.Node
		want     string
		shutdown bool
	}{
		"Running":                {nil, node("node-1", first), present, false},
		"RunningByName":          {nil, node("node-1", ""), present, false},
		"Stopped":                {stop, node("node-1", first), present, true},
		"StoppedByName":          {stop, node("node-1", ""), present, true},
		"Renamed":                {rename, node("node-1", first), present, false},
		"RenamedByName":          {rename, node("node-1", ""), absent, false},
		"Terminated":             {terminate, node("node-1", first), absent, false},
		"TerminatedByName":       {terminate, node("node-1", ""), absent, false},
		"NeverThere":             {nil, node("node-9", Name+"://sim-1/i-00000009"), absent, false},
		"NeverThereByName":       {nil, node("node-9", ""), absent, false},
		"TwoOfTheName":           {twin, node("node-1", ""), refused, false},
		"TwoOfTheNameByID":       {twin, node("node-1", first), present, false},
		"OtherCloud":             {nil, node("node-1", "other-"+first), refused, false},
		"ProviderIDWithoutID":    {nil, node("node-1", Name+"://sim-1/"), refused, false},
		"ProviderIDOfOneWord":    {nil, node("node-1", Name+"://i-00000001"), refused, false},
		"ProviderIDWithPath":     {nil, node("node-1", first+"/stop"), refused, false},
		"ProviderIDThatClimbs":   {nil, node("node-1", Name+"://sim-1/.."), refused, false},
		"ProviderIDOfNoRegion":   {nil, node("node-1", Name+":///i-00000001"), refused, false},
		"ReplacedByOneOfTheName": {replace(terminate, twin), node("node-1", first), absent, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.create(t, simulator.Instance{Name: "node-1"})
			if row.change != nil {
				diff(t, "change", nil, row.change(f))
			}
			exists, err := f.instances.InstanceExists(t.Context(), row.node)
			diff(t, "exists", row.want == present, exists)
			diff(t, "exists is an error", row.want == refused, err != nil)
			shutdown, err := f.instances.InstanceShutdown(t.Context(), row.node)
			diff(t, "shutdown", row.shutdown, shutdown)
			diff(t, "shutdown is an error", row.want != present, err != nil)
			_, err = f.instances.InstanceMetadata(t.Context(), row.node)
			diff(t, "metadata is an error", row.want != present, err != nil)
			diff(t, "not found", row.want == absent, errors.Is(err, cloudprovider.InstanceNotFound))
		})
	}
}

// replace combines changes. They are made one after the other.
func replace[C ~func(fixture) error](changes ...C) C {
	return func(f fixture) error {
		for _, change := range changes {
			if err := change(f); err != nil {
				return err
			}
		}
		return nil
	}
}
