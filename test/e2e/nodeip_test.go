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
)

// choice is what the kubelet was told, and which addresses the Node gets.
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

// The kubelet's --node-ip chooses among the addresses of the cloud. (Kubelets
// without it are what most other tests run.)
func TestAddressesThatTheKubeletWasToldToUse(t *testing.T) {
	b := onShared(t)
	cloud := b.bareCloud(t)
	nodes := map[string]string{} // by test
	tests := choices()
	for n, tt := range tests {
		node := plain(b.name("node-ip"))
		node.Annotations = map[string]string{api.AnnotationAlphaProvidedIPAddr: numbered(n, tt.nodeIP)[0]}
		cloud.instance(t, simulator.Instance{Name: node.Name, Addresses: offered(numbered(n, tt.offer...)...)})
		b.register(t, node)
		nodes[tt.name] = node.Name
	}
	hosted := b.name("node-ip")
	cloud.instance(t, simulator.Instance{Name: hosted, Addresses: offered("InternalIP=127.0.83.9", "Hostname=cloud-says")})
	b.register(t, plain(hosted))

	b.daemon(t, setup{cloud: cloud.url})
	for n, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			node := b.awaitNode(t, nodes[tt.name], soon, initialized)
			want := addresses(append(numbered(n, tt.want...), "Hostname="+node.Name)...)
			if err := differ("addresses", want, node.Status.Addresses); err != nil {
				t.Error(err)
			}
		})
	}
	node := b.awaitNode(t, hosted, soon, initialized)
	if err := differ("addresses", addresses("InternalIP=127.0.83.9", "Hostname=cloud-says"), node.Status.Addresses); err != nil {
		t.Errorf("the cloud's hostname replaces the kubelet's: %v", err)
	}
}

// numbered are addresses of an instance of its own: # is replaced.
func numbered(n int, texts ...string) []string {
	var all []string
	for _, text := range texts {
		all = append(all, strings.ReplaceAll(text, "#", strconv.Itoa(10+n)))
	}
	return all
}

// What does not match is shown on the Node, which waits until it does.
func TestAddressThatTheCloudDoesNotOffer(t *testing.T) {
	b := onShared(t)
	cloud := b.bareCloud(t)
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
	var nodes []string
	for n, tt := range tests {
		node := plain(b.name("no-node-ip"))
		node.Annotations = map[string]string{api.AnnotationAlphaProvidedIPAddr: numbered(n, tt.nodeIP)[0]}
		cloud.instance(t, simulator.Instance{
			Name: node.Name, Addresses: offered(numbered(n, "InternalIP=127.0.#.1", "InternalIP=127.0.#.2", "InternalIP=fd00::#")...),
		})
		b.register(t, node)
		nodes = append(nodes, node.Name)
	}
	b.daemon(t, setup{cloud: cloud.url})
	for n, tt := range tests {
		b.awaitEvent(t, nodes[n], soon, "Warning CloudInitFailed: "+tt.reason+": ")
		if node := b.node(t, nodes[n]); !tainted(node) || node.Spec.ProviderID != "" {
			t.Errorf("%s: the Node is initialised", tt.name)
		}
	}
	// The owner corrects the kubelet, and need not wait for the next retry.
	for n, node := range nodes {
		b.patch(t, node, `{"metadata":{"annotations":{"`+api.AnnotationAlphaProvidedIPAddr+`":"`+numbered(n, "127.0.#.2")[0]+`"}}}`)
	}
	for n, name := range nodes {
		b.awaitNode(t, name, soon, func(node *corev1.Node) error {
			if err := initialized(node); err != nil {
				return err
			}
			return differ("addresses", addresses(numbered(n, "InternalIP=127.0.#.2")[0], "Hostname="+name), node.Status.Addresses)
		})
	}
	await(t, soon, func(ctx context.Context) error {
		for n, tt := range tests {
			told, err := b.told(ctx, nodes[n])
			if err != nil {
				return err
			}
			if count(told, "Normal Synced") != 1 || count(told, "Warning") != 1 {
				return fmt.Errorf("%s: events %q, want one that says why and one when it is over", tt.name, told)
			}
		}
		return nil
	})
}
