package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// choice has a value of the kubelet's flag --node-ip, the addresses that the cloud
// offers, and the addresses that the Node gets.
type choice struct {
	name   string
	nodeIP string
	offer  []string
	want   []string // without the kubelet's own hostname, which comes last
}

func choices() []choice {
	offer := []string{
		"InternalIP=127.0.#.1", "ExternalIP=203.0.113.#", "InternalIP=127.0.#.2", "InternalIP=fd00::#",
		"InternalDNS=a#.internal", "ExternalIP=2001:db8::#",
	}
	return []choice{
		{
			"OneAddressExcludesTheOthersOfItsType", "127.0.#.2", offer,
			[]string{"InternalIP=127.0.#.2", "ExternalIP=203.0.113.#", "ExternalIP=2001:db8::#", "InternalDNS=a#.internal"},
		},
		{
			"AddressOfTheOtherFamilyExcludesTheFirst", "fd00::#", offer,
			[]string{"InternalIP=fd00::#", "ExternalIP=203.0.113.#", "ExternalIP=2001:db8::#", "InternalDNS=a#.internal"},
		},
		{
			"TwoFamiliesComeInTheKubeletsOrder", "fd00::#,127.0.#.1", offer,
			[]string{"InternalIP=fd00::#", "InternalIP=127.0.#.1", "ExternalIP=203.0.113.#", "ExternalIP=2001:db8::#", "InternalDNS=a#.internal"},
		},
		{
			"TwoFamiliesTheOtherWayRound", "127.0.#.1,fd00::#", offer,
			[]string{"InternalIP=127.0.#.1", "InternalIP=fd00::#", "ExternalIP=203.0.113.#", "ExternalIP=2001:db8::#", "InternalDNS=a#.internal"},
		},
		{
			"ExternalAddressComesFirst", "203.0.113.#", offer,
			[]string{"ExternalIP=203.0.113.#", "InternalIP=127.0.#.1", "InternalIP=127.0.#.2", "InternalIP=fd00::#", "InternalDNS=a#.internal"},
		},
		{
			"OneAddressOfTwoTypesIsTakenTwice", "203.0.113.#", append([]string{"InternalIP=203.0.113.#"}, offer...),
			[]string{"InternalIP=203.0.113.#", "ExternalIP=203.0.113.#", "InternalDNS=a#.internal"},
		},
		{
			"AnotherSpellingOfTheAddressIsTheSame", "fd00:0:0::00#", offer,
			[]string{"InternalIP=fd00::#", "ExternalIP=203.0.113.#", "ExternalIP=2001:db8::#", "InternalDNS=a#.internal"},
		},
	}
}

// The kubelet's --node-ip chooses among the addresses of the cloud. (Most other tests
// run kubelets without this flag.)
func TestAddressesThatTheKubeletWasToldToUse(t *testing.T) {
	b := onShared(t)
	cloud := b.NewCloud(t)
	names := map[string]string{} // by test
	tests := choices()
	for n, tt := range tests {
		node := nodes.New(b.Name("node-ip"))
		node.Annotations = map[string]string{api.AnnotationAlphaProvidedIPAddr: numbered(n, tt.nodeIP)[0]}
		cloud.Instance(t, simulator.Instance{Name: node.Name, Addresses: nodes.CloudAddresses(numbered(n, tt.offer...)...)})
		b.Register(t, node)
		names[tt.name] = node.Name
	}
	hosted := b.Name("node-ip")
	cloud.Instance(t, simulator.Instance{Name: hosted, Addresses: nodes.CloudAddresses("InternalIP=127.0.83.9", "Hostname=cloud-says")})
	b.Register(t, nodes.New(hosted))

	b.Daemon(t, daemon.Setup{Cloud: cloud.URL})
	for n, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			node := b.AwaitNode(t, names[tt.name], expect.Soon, nodes.Initialized)
			want := nodes.Addresses(append(numbered(n, tt.want...), "Hostname="+node.Name)...)
			if err := expect.Equal("addresses", want, node.Status.Addresses); err != nil {
				t.Error(err)
			}
		})
	}
	node := b.AwaitNode(t, hosted, expect.Soon, nodes.Initialized)
	if err := expect.Equal("addresses", nodes.Addresses("InternalIP=127.0.83.9", "Hostname=cloud-says"), node.Status.Addresses); err != nil {
		t.Errorf("the cloud's hostname replaces the kubelet's: %v", err)
	}
}

// numbered returns the addresses of the n-th instance: each # in the texts becomes 10+n.
func numbered(n int, texts ...string) []string {
	var all []string
	for _, text := range texts {
		all = append(all, strings.ReplaceAll(text, "#", strconv.Itoa(10+n)))
	}
	return all
}

// If --node-ip is invalid, or has an address that the cloud does not offer, the Node
// shows this and waits.
func TestAddressThatTheCloudDoesNotOffer(t *testing.T) {
	b := onShared(t)
	cloud := b.NewCloud(t)
	tests := []struct{ name, nodeIP, reason string }{
		{"Unknown", "127.0.#.9", "NodeIPNotOffered"},
		{"SecondIsUnknown", "127.0.#.1,fd00::9", "NodeIPNotOffered"},
		{"Empty", "", "InvalidNodeIP"},
		{"NoAddress", "node-1", "InvalidNodeIP"},
		{"TwoOfOneFamily", "127.0.#.1,127.0.#.2", "InvalidNodeIP"},
		{"Three", "127.0.#.1,fd00::#,127.0.#.2", "InvalidNodeIP"},
		{"SpaceBetween", "127.0.#.1, fd00::#", "InvalidNodeIP"},
		{"OneOfTwoIsUnspecified", "127.0.#.1,::", "InvalidNodeIP"},
	}
	var names []string
	for n, tt := range tests {
		node := nodes.New(b.Name("no-node-ip"))
		node.Annotations = map[string]string{api.AnnotationAlphaProvidedIPAddr: numbered(n, tt.nodeIP)[0]}
		cloud.Instance(t, simulator.Instance{
			Name: node.Name, Addresses: nodes.CloudAddresses(numbered(n, "InternalIP=127.0.#.1", "InternalIP=127.0.#.2", "InternalIP=fd00::#")...),
		})
		b.Register(t, node)
		names = append(names, node.Name)
	}
	b.Daemon(t, daemon.Setup{Cloud: cloud.URL})
	for n, tt := range tests {
		b.AwaitEvent(t, names[n], expect.Soon, "Warning CloudInitFailed: "+tt.reason+": ")
		if node := b.Node(t, names[n]); !nodes.IsTainted(node) || node.Spec.ProviderID != "" {
			t.Errorf("%s: the Node is initialised", tt.name)
		}
	}
	// The owner corrects --node-ip. The Node is then initialised at once, not only at the
	// next retry.
	for n, node := range names {
		b.Patch(t, node, `{"metadata":{"annotations":{"`+api.AnnotationAlphaProvidedIPAddr+`":"`+numbered(n, "127.0.#.2")[0]+`"}}}`)
	}
	for n, name := range names {
		b.AwaitNode(t, name, expect.Soon, func(node *corev1.Node) error {
			if err := nodes.Initialized(node); err != nil {
				return err
			}
			return expect.Equal("addresses", nodes.Addresses(numbered(n, "InternalIP=127.0.#.2")[0], "Hostname="+name), node.Status.Addresses)
		})
	}
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		for n, tt := range tests {
			told, err := b.Events(ctx, names[n])
			if err != nil {
				return err
			}
			if expect.CountPrefix(told, "Normal Synced") != 1 || expect.CountPrefix(told, "Warning") != 1 {
				return fmt.Errorf("%s: events %q, want one that says why and one when it is over", tt.name, told)
			}
		}
		return nil
	})
}
