package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/scale/listing"
)

// parallel is the number of requests that the benchmark itself makes at the same time.
const parallel = 20

// Each calls f with each number from 0 to n-1, and joins the errors. Many calls run at the same
// time.
func Each(n int, f func(int) error) error {
	errs := make([]error, n)
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for i := range numbers {
				errs[i] = f(i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
	return errors.Join(errs...)
}

// Uninitialized returns the n-th Node of a cluster, as a kubelet registers it.
func Uninitialized(name string, n int, now time.Time) *corev1.Node {
	podCIDR := podCIDR(n)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec: corev1.NodeSpec{
			// The Node has its CIDR from the start. Otherwise the control plane would
			// write the Node at the same time as the daemon.
			PodCIDR: podCIDR, PodCIDRs: []string{podCIDR},
			Taints: []corev1.Taint{{Key: api.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}},
		},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now),
			}},
		},
	}
}

// podCIDR returns the n-th network of 256 addresses in the cluster's CIDR.
func podCIDR(n int) string {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(128 + n/256), byte(n % 256), 0}), 24).String()
}

// Initialized returns the n-th Node as any cloud-controller-manager would have
// initialised it.
func Initialized(i simulator.Instance, n int, now time.Time) *corev1.Node {
	node := Uninitialized(i.Name, n, now)
	node.Spec.Taints = nil
	node.Spec.ProviderID = listing.ProviderID(i)
	maps.Copy(node.Labels, map[string]string{
		corev1.LabelInstanceType: i.Type, corev1.LabelInstanceTypeStable: i.Type,
		corev1.LabelFailureDomainBetaZone: i.Zone, corev1.LabelTopologyZone: i.Zone,
		corev1.LabelFailureDomainBetaRegion: i.Region, corev1.LabelTopologyRegion: i.Region,
	})
	var addresses []corev1.NodeAddress
	for _, a := range i.Addresses {
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Type), Address: a.Address})
	}
	node.Status.Addresses = append(addresses, node.Status.Addresses...)
	return node
}

// IsInitialized reports whether the Node can get pods and has an address for
// them.
func IsInitialized(node *corev1.Node) bool {
	for _, t := range node.Spec.Taints {
		if t.Key == api.TaintExternalCloudProvider {
			return false
		}
	}
	return node.Spec.ProviderID != "" && Address(node, corev1.NodeInternalIP) != ""
}

// Address returns the first address of this type, or an empty string.
func Address(node *corev1.Node, kind corev1.NodeAddressType) string {
	for _, a := range node.Status.Addresses {
		if a.Type == kind {
			return a.Address
		}
	}
	return ""
}

// Register creates the Nodes.
func (p *Plane) Register(ctx context.Context, nodes []*corev1.Node) error {
	return Each(len(nodes), func(n int) error {
		_, err := p.Client.CoreV1().Nodes().Create(ctx, nodes[n], metav1.CreateOptions{})
		return err
	})
}

// Silence changes the Nodes so that their kubelets seem to have been silent for 10 minutes.
func (p *Plane) Silence(ctx context.Context, names []string, now time.Time) error {
	const ago = 10 * time.Minute
	since := metav1.NewTime(now.Add(-ago))
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionUnknown,
		Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status.",
		LastHeartbeatTime: since, LastTransitionTime: since,
	}}}})
	if err != nil {
		return err
	}
	return Each(len(names), func(n int) error {
		_, err := p.Client.CoreV1().Nodes().Patch(ctx, names[n], types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		if err != nil {
			return fmt.Errorf("silence node %s: %w", names[n], err)
		}
		return nil
	})
}

// Beat writes a heartbeat that changes nothing else, as an idle kubelet does.
func (p *Plane) Beat(ctx context.Context, name string, now time.Time) error {
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":%q,"lastHeartbeatTime":%q}]}}`, corev1.NodeReady, now.UTC().Format(time.RFC3339))
	_, err := p.Client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("heartbeat of node %s: %w", name, err)
	}
	return nil
}
