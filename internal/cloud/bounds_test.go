package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// addressesOf returns addresses of one type, numbered from 0.
func addressesOf(kind corev1.NodeAddressType, n int) []corev1.NodeAddress {
	var all []corev1.NodeAddress
	for i := range n {
		all = append(all, corev1.NodeAddress{Type: kind, Address: fmt.Sprintf("a%d", i)})
	}
	return all
}

func labelsOf(n int) map[string]string {
	labels := map[string]string{}
	for i := range n {
		labels[fmt.Sprintf("l%05d", i)] = "1"
	}
	return labels
}

func TestBoundedAddresses(t *testing.T) {
	internal, external := corev1.NodeInternalIP, corev1.NodeExternalIP
	long := func(n int) []corev1.NodeAddress {
		return []corev1.NodeAddress{{Type: external, Address: strings.Repeat("a", n)}}
	}
	var odd, types []corev1.NodeAddress
	for n := range 100 {
		types = append(types, addressesOf(corev1.NodeAddressType(fmt.Sprintf("t%02d", n)), 2)...)
		odd = append(odd, corev1.NodeAddress{Type: internal, Address: strings.Repeat("a", 1<<20)})
	}
	var firsts []corev1.NodeAddress
	for n := range MaxAddresses {
		firsts = append(firsts, types[2*n])
	}
	for _, tt := range []struct {
		name   string
		theirs []corev1.NodeAddress
		want   []corev1.NodeAddress
		more   bool
	}{
		{"NoneIsNone", nil, nil, false},
		{"AsManyAsAreReadAreAllRead", addressesOf(internal, 64), addressesOf(internal, 64), false},
		{"FirstOnesOfTenThousandAreRead", addressesOf(internal, 10_000), addressesOf(internal, 64), true},
		{
			"RareTypeIsReadAfterTenThousandOthers", slices.Concat(addressesOf(internal, 10_000), addressesOf(external, 1)),
			slices.Concat(addressesOf(internal, 63), addressesOf(external, 1)), true,
		},
		{
			"TypesTakeTurnsAndTheOrderStays", slices.Concat(addressesOf(external, 40), addressesOf(internal, 40)),
			slices.Concat(addressesOf(external, 32), addressesOf(internal, 32)), true,
		},
		{"OfTooManyTypesTheFirstOnesAreRead", types, firsts, true},
		{"AddressAsLongAsANameIsRead", long(253), long(253), false},
		{"LongerAddressIsNotRead", slices.Concat(long(254), addressesOf(internal, 1)), addressesOf(internal, 1), true},
		{"LongerTypeIsNotRead", []corev1.NodeAddress{{Type: corev1.NodeAddressType(strings.Repeat("t", 254))}}, nil, true},
		{"LongAddressesTakeNoPlace", slices.Concat(odd, addressesOf(internal, 64)), addressesOf(internal, 64), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := slices.Clone(tt.theirs)
			got, more := boundedAddresses(tt.theirs)
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" || more != tt.more {
				t.Errorf("more: %v, want %v; addresses (-want +got):\n%s", more, tt.more, diff)
			}
			if !slices.Equal(before, tt.theirs) {
				t.Error("the provider's addresses have changed")
			}
		})
	}
}

func TestBoundedLabels(t *testing.T) {
	for _, tt := range []struct {
		name   string
		theirs map[string]string
		want   map[string]string
		more   bool
	}{
		{"NoMapIsNoMap", nil, nil, false},
		{"EmptyMapIsAMap", map[string]string{}, map[string]string{}, false},
		{"AsManyAsAreReadAreAllRead", labelsOf(64), labelsOf(64), false},
		{"FirstKeysAreRead", labelsOf(10_000), labelsOf(64), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, more := boundedLabels(tt.theirs)
			if diff := cmp.Diff(tt.want, got); diff != "" || more != tt.more {
				t.Errorf("more: %v, want %v; labels (-want +got):\n%s", more, tt.more, diff)
			}
		})
	}
}

// boundless is a provider that describes each instance with 10,000 addresses and
// labels, in each of its answers.
type boundless struct{ metadata }

func tenThousand() *cloudprovider.InstanceMetadata {
	return &cloudprovider.InstanceMetadata{ProviderID: "p://1", NodeAddresses: addressesOf(corev1.NodeInternalIP, 10_000), AdditionalLabels: labelsOf(10_000)}
}

func (boundless) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	return tenThousand(), nil
}

func (boundless) ListInstances(context.Context, string) (provider.InstancePage, error) {
	return provider.InstancePage{Instances: []cloudprovider.InstanceMetadata{*tenThousand()}}, nil
}

// inBatches is the same provider, with batches.
type inBatches struct{ boundless }

func (inBatches) MaxInstanceMetadataBatch() int { return 2 }

func (inBatches) InstanceMetadataBatch(_ context.Context, nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
	answers := make([]provider.InstanceMetadataAnswer, len(nodes))
	for n := range answers {
		answers[n].Metadata = tenThousand()
	}
	return answers, nil
}

// oldBoundless is the same provider, with the older interfaces. These know no labels.
type oldBoundless struct{ *oldVendor }

func (oldBoundless) NodeAddressesByProviderID(context.Context, string) ([]corev1.NodeAddress, error) {
	return tenThousand().NodeAddresses, nil
}

func (oldBoundless) InstanceID(context.Context, types.NodeName) (string, error) { return "1", nil }

// TestNoAnswerIsReadBeyondTheBounds asks in every way in which a description of an
// instance comes from the provider.
func TestNoAnswerIsReadBeyondTheBounds(t *testing.T) {
	single := func(t *testing.T, i *Instances) (Metadata, error) { return i.Metadata(t.Context(), node("n")) }
	refresh := func(t *testing.T, i *Instances) (Metadata, error) {
		got := i.Refresh(t.Context(), []*corev1.Node{node("n")})[0]
		return got.Metadata, got.Err
	}
	list := func(t *testing.T, i *Instances) (Metadata, error) {
		page, err := i.Lister().Page(t.Context(), "")
		return page.Instances[0], err
	}
	identify := func(t *testing.T, i *Instances) (Metadata, error) {
		got, err := i.Identity(t.Context(), node("n"), "r")
		return *got.ByName, err
	}
	for _, tt := range []struct {
		name   string
		vendor vendor
		ask    func(*testing.T, *Instances) (Metadata, error)
		labels int
	}{
		{"Alone", vendor{v2: boundless{}}, single, MaxLabels},
		{"AloneInARefresh", vendor{v2: boundless{}}, refresh, MaxLabels},
		{"InABatch", vendor{v2: inBatches{}}, single, MaxLabels},
		{"InABatchOfARefresh", vendor{v2: inBatches{}}, refresh, MaxLabels},
		{"InAList", vendor{v2: boundless{}}, list, MaxLabels},
		{"ForACertificate", vendor{v2: boundless{}}, identify, MaxLabels},
		{"FromTheOlderInterface", vendor{v1: oldBoundless{&oldVendor{}}}, single, 0},
		{"FromTheOlderInterfaceInARefresh", vendor{v1: oldBoundless{&oldVendor{}}}, refresh, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.ask(t, gateway(t, tt.vendor, Config{}).Instances())
			if err != nil || len(got.Addresses) != MaxAddresses || len(got.Labels) != tt.labels || !got.MoreAddresses || got.MoreLabels != (tt.labels > 0) {
				t.Errorf("%d addresses (more: %v) and %d labels (more: %v), %v; want %d and %d",
					len(got.Addresses), got.MoreAddresses, len(got.Labels), got.MoreLabels, err, MaxAddresses, tt.labels)
			}
		})
	}
}
