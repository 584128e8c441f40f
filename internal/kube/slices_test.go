package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// Of EndpointSlices the informer keeps only the Nodes of the endpoints. What is kept of two slices
// of a Service is put together.
func TestEndpointsOfAService(t *testing.T) {
	a, b := "a", "b"
	slice := func(name, service string, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service, "other": "x"}},
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints,
		}
	}
	on := func(node *string, ready *bool) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}, NodeName: node, Conditions: discoveryv1.EndpointConditions{Ready: ready}}
	}
	informer := NewInformerFactory(fake.NewClientset(), 0, nil).Discovery().V1().EndpointSlices().Informer() // It is never started.
	if got := EndpointsOf(informer, "ns/s"); got != nil {
		t.Errorf("%v without an index", got)
	}
	for range 2 {
		if err := IndexServices(informer); err != nil {
			t.Fatal(err)
		}
	}
	for _, whole := range []*discoveryv1.EndpointSlice{
		slice("1", "s", on(&b, new(false)), on(&a, new(false)), on(nil, nil), on(&a, nil)),
		slice("2", "s", on(&b, new(true))), slice("3", "other", on(&b, nil)), slice("4", "s"),
	} {
		trimmed := trimSlice(whole)
		if diff := cmp.Diff(trimmed, trimSlice(trimmed)); diff != "" {
			t.Errorf("a second trim changes %s:\n%s", whole.Name, diff)
		}
		if diff := cmp.Diff(EndpointsIn(whole), EndpointsIn(trimmed)); diff != "" || len(trimmed.Labels) != 1 || len(trimmed.Endpoints) > 2 {
			t.Errorf("kept of %s: %+v\n%s", whole.Name, trimmed, diff)
		}
		if err := informer.GetStore().Add(trimmed); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]bool{"a": true, "b": true}, EndpointsOf(informer, "ns/s")); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	if got := EndpointsIn(nil); len(got) > 0 {
		t.Errorf("%v in no slice", got)
	}
}
