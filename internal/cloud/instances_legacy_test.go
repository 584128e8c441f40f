package cloud

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

func TestOlderInterfaces(t *testing.T) {
	failing := func(calls ...string) map[string]error {
		errs := map[string]error{}
		for _, call := range calls {
			errs[call] = errors.New("no")
		}
		return errs
	}
	for _, tt := range []struct {
		name       string
		providerID string
		errs       map[string]error
		calls      []string
		want       Metadata
		kind       Kind
	}{
		{
			name: "NodeWithProviderIDIsThreeCalls", providerID: "p://i-1",
			calls: []string{"NodeAddressesByProviderID", "InstanceTypeByProviderID", "GetZoneByProviderID"},
			want:  Metadata{ProviderID: "p://i-1", Type: "small", Zone: "z1", Region: "r1", Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "p://i-1"}}},
		},
		{
			name:  "NodeWithoutProviderIDIsFourCalls",
			calls: []string{"InstanceID", "NodeAddressesByProviderID", "InstanceTypeByProviderID", "GetZoneByProviderID"},
			want:  Metadata{ProviderID: "p://i-1", Type: "small", Zone: "z1", Region: "r1", Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "p://i-1"}}},
		},
		{
			name: "ErrorByProviderIDIsAskedByName", providerID: "p://i-1",
			errs:  failing("NodeAddressesByProviderID", "InstanceTypeByProviderID", "GetZoneByProviderID"),
			calls: []string{"NodeAddressesByProviderID", "NodeAddresses", "InstanceTypeByProviderID", "InstanceType", "GetZoneByProviderID", "GetZoneByNodeName"},
			want:  Metadata{ProviderID: "p://i-1", Type: "byname", Zone: "byname", Region: "r1", Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "byname"}}},
		},
		{
			name:  "ProviderWithoutInstanceIDIsNameless",
			errs:  map[string]error{"InstanceID": fmt.Errorf("a: %w", cloudprovider.NotImplemented)},
			calls: []string{"InstanceID", "NodeAddressesByProviderID", "InstanceTypeByProviderID", "GetZoneByProviderID"},
			want:  Metadata{Nameless: true, Type: "small", Zone: "z1", Region: "r1", Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName}}},
		},
		{name: "UnknownInstanceIsNotFound", errs: map[string]error{"InstanceID": cloudprovider.InstanceNotFound}, calls: []string{"InstanceID"}, kind: NotFound},
		{
			name: "BothWaysFailing", providerID: "p://i-1", errs: failing("NodeAddressesByProviderID", "NodeAddresses"),
			calls: []string{"NodeAddressesByProviderID", "NodeAddresses"}, kind: Failed,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old := &oldVendor{errs: tt.errs}
			n := node("n")
			n.Spec.ProviderID = tt.providerID
			got, err := gateway(t, vendor{v1: old, zones: old}, Config{}).Instances().Metadata(t.Context(), n)
			if diff := cmp.Diff(tt.calls, old.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if tt.kind != "" {
				if KindOf(err) != tt.kind {
					t.Errorf("kind = %v of %v, want %v", KindOf(err), err, tt.kind)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOlderProviderWithoutZones(t *testing.T) {
	got, err := gateway(t, vendor{v1: &oldVendor{}}, Config{}).Instances().Metadata(t.Context(), node("n"))
	if err != nil || got.Zone != "" || got.Type != "small" {
		t.Errorf("metadata = %+v, %v, want a type and no zone", got, err)
	}
}

func TestRefreshOfAnOlderProvider(t *testing.T) {
	old := &oldVendor{errs: map[string]error{"InstanceTypeByProviderID": errors.New("no"), "InstanceType": errors.New("no")}}
	i := gateway(t, vendor{v1: old, zones: old}, Config{}).Instances()
	known := node("n")
	known.Spec.ProviderID = "p://i-1"
	got := i.Refresh(t.Context(), []*corev1.Node{known})
	if got[0].Err != nil || len(got[0].Metadata.Addresses) != 1 || got[0].Metadata.Type != "" {
		t.Errorf("answer = %+v, want addresses although the type is unknown", got[0])
	}
	want := []string{"NodeAddressesByProviderID", "InstanceTypeByProviderID", "InstanceType"}
	if diff := cmp.Diff(want, old.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
