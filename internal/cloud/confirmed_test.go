package cloud

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

func TestConfirmed(t *testing.T) {
	describes := func(id string, err error) metadata {
		return func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			return &cloudprovider.InstanceMetadata{ProviderID: id}, err
		}
	}
	listing := func(id string) hinting {
		return hinting{list: func(string) (provider.InstancePage, error) {
			return provider.InstancePage{Instances: []cloudprovider.InstanceMetadata{{ProviderID: id}}}, nil
		}}
	}
	joint := func(id string) batching {
		return batching{answer: func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
			return []provider.InstanceMetadataAnswer{{Metadata: &cloudprovider.InstanceMetadata{ProviderID: id}}}, nil
		}}
	}
	refresh := func(i *Instances, n *corev1.Node) { i.Refresh(context.Background(), []*corev1.Node{n}) }
	initialise := func(i *Instances, n *corev1.Node) {
		n.Spec.ProviderID = ""
		_, _ = i.Metadata(context.Background(), n)
	}
	list := func(i *Instances, _ *corev1.Node) { _, _ = i.Lister().Page(context.Background(), "") }
	for _, tt := range []struct {
		name  string
		v2    cloudprovider.InstancesV2
		ask   func(*Instances, *corev1.Node)
		later time.Duration
		want  bool
	}{
		{"Refreshed", describes("p://1", nil), refresh, 0, true},
		{"RefreshedWithOthers", joint("p://1"), refresh, 0, true},
		{"Initialised", describes("p://1", nil), initialise, 0, true},
		{"Listed", listing("p://1"), list, 0, true},
		{"ListWithoutIt", listing("p://2"), list, 0, false},
		{"NeverAsked", describes("p://1", nil), func(*Instances, *corev1.Node) {}, 0, false},
		{"AnotherInstance", describes("p://2", nil), refresh, 0, false},
		{"AnotherInstanceWithOthers", joint("p://2"), refresh, 0, false},
		{"NoProviderID", describes("", nil), refresh, 0, false},
		{"Failed", describes("p://1", status(500)), refresh, 0, false},
		{"IsKeptForAnHour", describes("p://1", nil), refresh, confirmedFor, true},
		{"IsNotKeptForEver", describes("p://1", nil), refresh, 2 * confirmedFor, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := gateway(t, vendor{v2: tt.v2}, Config{}).Instances()
				n := node("n")
				n.Spec.ProviderID = "p://1"
				tt.ask(i, n.DeepCopy())
				for range tt.later / confirmedFor {
					time.Sleep(confirmedFor)
					i.confirmed.note("p://3")
				}
				if got := i.Confirmed(n); got != tt.want {
					t.Errorf("confirmed %t, want %t", got, tt.want)
				}
				if n.Spec.ProviderID = ""; i.Confirmed(n) {
					t.Error("a Node without a provider ID is confirmed")
				}
			})
		})
	}
}
