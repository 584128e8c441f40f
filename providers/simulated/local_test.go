package simulated

import (
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/simulator"
)

func TestCloudInsideTheProcess(t *testing.T) {
	found, err := cloudprovider.GetCloudProvider(Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	instances, ok := found.InstancesV2()
	if !ok {
		t.Fatal("no InstancesV2")
	}
	if exists, err := instances.InstanceExists(t.Context(), node("node-1", "")); exists || err == nil {
		t.Errorf("before Initialize: got %v, %v; want an error", exists, err)
	}
	stop := make(chan struct{})
	found.Initialize(nil, stop)
	found.Initialize(nil, stop) // changes nothing

	cloud := found.(*Cloud)
	created, err := cloud.connection().client.Operator().CreateInstance(t.Context(), simulator.Instance{Name: "node-1"})
	diff(t, "error", nil, err)
	got, err := instances.InstanceMetadata(t.Context(), node("node-1", ""))
	diff(t, "error", nil, err)
	diff(t, "provider ID", "simulated://sim-1/"+created.ID, got.ProviderID)

	close(stop)
	for err == nil { // wait until it no longer answers
		_, err = cloud.connection().client.Instances(t.Context())
	}
}

func TestInterface(t *testing.T) {
	cloud, err := New(nil)
	diff(t, "error", nil, err)
	diff(t, "name", "simulated", cloud.ProviderName())
	diff(t, "cluster ID", true, cloud.HasClusterID())
	for what, ok := range map[string]func() bool{
		"Instances": func() bool { _, ok := cloud.Instances(); return ok },
		"Zones":     func() bool { _, ok := cloud.Zones(); return ok },
		"Clusters":  func() bool { _, ok := cloud.Clusters(); return ok },
	} {
		diff(t, what, false, ok())
	}
	if _, ok := cloud.LoadBalancer(); !ok {
		t.Error("no LoadBalancer")
	}
	if _, ok := cloud.Routes(); !ok {
		t.Error("no Routes")
	}
}
