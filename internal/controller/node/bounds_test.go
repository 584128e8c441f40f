package node

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// A cloud that names 10,000 addresses or labels of an instance costs two writes and two
// events, and no more with each comparison, although its answers differ.
func TestInstanceWithTenThousandAddresses(t *testing.T) {
	for _, tt := range []struct {
		name              string
		vendor            func() *vendor
		addresses, labels int
		wantAddresses     int
		wantLabels        int
	}{
		{"Addresses", func() *vendor { return &vendor{} }, 10_000, 0, cloud.MaxAddresses, 0},
		{"Labels", func() *vendor { return &vendor{} }, 0, 10_000, 2, cloud.MaxLabels},
		{"BothInAList", func() *vendor { return &vendor{hints: newHints()} }, 10_000, 10_000, cloud.MaxAddresses, cloud.MaxLabels},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := tt.vendor()
				q := beginWith(t, v, Config{}, nil, joins("n1"))
				defer func() { q.stop() }()
				for more := range 20 {
					i := instanceOf("n1")
					for n := range tt.addresses {
						i.NodeAddresses = append(i.NodeAddresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.0.%d.%d", n/250, n%250)})
					}
					i.NodeAddresses = append(i.NodeAddresses, external)
					for n := range tt.addresses / 10_000 * more {
						i.NodeAddresses = append(i.NodeAddresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.1.0.%d", n)})
					}
					for n := range tt.labels {
						i.AdditionalLabels[fmt.Sprintf("a%05d", n+tt.labels/10_000*more)] = "1"
					}
					v.mu.Lock()
					v.instances["n1"] = i
					v.mu.Unlock()
					if q.after(time.Minute); more == 0 {
						checkBounded(t, q.node("n1"), tt.wantAddresses, tt.wantLabels)
						if n := q.takeWrites(); n != 2 {
							t.Errorf("%d writes, want one of the addresses and one of the rest", n)
						}
					}
				}
				q.expectEvents("n1 CloudInstanceTruncated", "n1 Synced")
			})
		})
	}
}

// checkBounded checks that the Node has these numbers of addresses and labels of the
// cloud. The only external address must be one of them.
func checkBounded(t *testing.T, node *corev1.Node, addresses, labels int) {
	t.Helper()
	counts := map[corev1.NodeAddressType]int{}
	for _, address := range node.Status.Addresses {
		counts[address.Type]++
	}
	if counts[corev1.NodeInternalIP] != addresses-1 || counts[corev1.NodeExternalIP] != 1 || counts[corev1.NodeHostName] != 1 {
		t.Errorf("addresses %v, want %d of the cloud, one of them external, and the Node's own name", counts, addresses)
	}
	got := 0
	for key := range node.Labels {
		if strings.HasPrefix(key, "a0") {
			got++
		}
	}
	if _, last := node.Labels["a00063"]; got != labels || last != (labels > 0) {
		t.Errorf("%d labels of the cloud, want the first %d", got, labels)
	}
}
