package e2e

import (
	"context"
	"flag"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

const (
	podNetwork  = "10.244.0.0/19" // 256 CIDRs of length 27
	podNetwork6 = "fd00:10:244::/48"
	servicesIn  = "10.244.31.0/24" // 8 CIDRs of length 27
	roomFor     = 256 - 8
)

// wide makes TestNodeCIDRs four times as large, with a few more than 1,000 Nodes.
var wide = flag.Bool("wide", false, "run TestNodeCIDRs with 1,000 Nodes, which takes minutes")

// givesCIDRs returns the flags of a daemon that only gives CIDRs to Nodes.
func givesCIDRs(clusters string, more ...string) []string {
	return append([]string{"--controllers=node-ipam-controller", "--allocate-node-cidrs", "--cluster-cidr=" + clusters}, more...)
}

// kube-controller-manager gives no CIDRs. Instead, several leaders, one after the other,
// give each Node a CIDR of each family (S11). Each leader is killed during a write. In
// some rounds, the write arrives before the next leader has begun. In others, it arrives
// afterwards, or only its reply is lost. In the end all CIDRs are given, and none twice.
func TestNodeCIDRs(t *testing.T) {
	const rounds = 5
	podNetwork, roomFor, fleet := podNetwork, roomFor, 48
	if *wide {
		podNetwork, roomFor, fleet = "10.244.0.0/17", 1024-8, 200
	}
	b := onOwn(t, "--cluster-cidr="+podNetwork+","+podNetwork6, "--controller-manager-arg=--allocate-node-cidrs=false")
	api := b.BeforeAPIServer(t)
	s := daemon.Setup{API: api, Elect: true, Flags: givesCIDRs(podNetwork+","+podNetwork6,
		"--node-cidr-mask-size-ipv4=27", "--service-cluster-ip-range="+servicesIn,
		"--leader-elect-lease-duration=30s", "--leader-elect-renew-deadline=27s", "--leader-elect-retry-period=1s")}
	b.Kubelets(t, simulator.Instance{Name: b.Name("real")}, simulator.Instance{Name: b.Name("real")}, simulator.Instance{Name: b.Name("real")})
	d := b.Daemon(t, s)
	awaitCIDRs(t, b, 3)

	var names []string
	for round := range rounds {
		at := []proxy.Point{proxy.Before, proxy.After}[round%2]
		trap := api.Trap(nodePatches, 1+11*round, at)
		names = append(names, register(t, b, fleet)...)
		bed.AwaitTrap(t, trap)
		d.Kill()
		next := b.Daemon(t, s)
		if round == 0 {
			trap.Release() // The write arrives before the next daemon leads.
		}
		awaitCIDRs(t, b, 3+len(names))
		trap.Release() // In rounds 2 and 4, the write arrives only now, when its Node has CIDRs from the next leader.
		d = next
	}

	more := register(t, b, roomFor-3-rounds*fleet+5)
	awaitCIDRs(t, b, roomFor)
	b.AwaitMetric(t, d, `node_ipam_controller_cidrset_usage_cidrs{clusterCIDR="`+podNetwork+`"} 1`)
	b.AwaitMetric(t, d, fmt.Sprintf(`fairlead_nodes_without_cidrs{reason="CIDRNotAvailable"} %d`, 3+len(names)+len(more)-roomFor))
	waiting := without(t, b)
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		told, err := b.EventsOf(ctx, "cidrAllocator", waiting)
		if err == nil && expect.CountPrefix(told, "Warning CIDRNotAvailable: All CIDRs of --cluster-cidr="+podNetwork+" are taken") != 1 {
			err = fmt.Errorf("%s was told %q", waiting, told)
		}
		return err
	})

	gone := names[:20]
	remove(t, b, gone...)
	awaitCIDRs(t, b, 3+len(names)+len(more)-len(gone))
	for _, name := range names[20:25] { // These are recreated with the same names.
		remove(t, b, name)
		b.Register(t, nodes.New(name))
	}
	awaitCIDRs(t, b, 3+len(names)+len(more)-len(gone))
}

// register creates Nodes without kubelets, and returns their names.
func register(t *testing.T, b *bed.Bed, n int) (names []string) {
	t.Helper()
	prefix := b.Name("plain")
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%03d", prefix, i))
	}
	each(names, func(name string) {
		if _, err := b.Admin.CoreV1().Nodes().Create(t.Context(), nodes.New(name), metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	})
	return names
}

func remove(t *testing.T, b *bed.Bed, names ...string) {
	t.Helper()
	each(names, func(name string) {
		if err := b.Admin.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// each makes the call do(name) for every name, and makes up to eight calls at a time.
func each(names []string, do func(string)) {
	queue := make(chan string)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for name := range queue {
				do(name)
			}
		})
	}
	for _, name := range names {
		queue <- name
	}
	close(queue)
	workers.Wait()
}

// awaitCIDRs waits until this many Nodes have a CIDR of each family. No two CIDRs may
// overlap.
func awaitCIDRs(t *testing.T, b *bed.Bed, want int) {
	t.Helper()
	expect.Within(t, 3*time.Minute, func(ctx context.Context) error {
		list, err := b.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		served, taken := 0, map[string]string{servicesIn: "Services"}
		for _, n := range list.Items {
			if len(n.Spec.PodCIDRs) == 0 {
				continue
			}
			served++
			overlapsNone(t, n, taken)
		}
		if served != want {
			return fmt.Errorf("%d of %d Nodes have CIDRs, want %d", served, len(list.Items), want)
		}
		return nil
	})
}

func overlapsNone(t *testing.T, n corev1.Node, taken map[string]string) {
	t.Helper()
	var lengths []int
	for _, text := range n.Spec.PodCIDRs {
		cidr := netip.MustParsePrefix(text)
		lengths = append(lengths, cidr.Bits())
		for other, holder := range taken {
			if cidr.Overlaps(netip.MustParsePrefix(other)) {
				t.Fatalf("%s of %s overlaps with %s of %s", text, n.Name, other, holder)
			}
		}
	}
	for _, text := range n.Spec.PodCIDRs {
		taken[text] = n.Name
	}
	if !slices.Equal(lengths, []int{27, 64}) || n.Spec.PodCIDR != n.Spec.PodCIDRs[0] {
		t.Fatalf("%s has the CIDRs %v, and podCIDR %s", n.Name, n.Spec.PodCIDRs, n.Spec.PodCIDR)
	}
}

// without finds a Node that has no CIDRs, and returns the Node's name.
func without(t *testing.T, b *bed.Bed) string {
	t.Helper()
	list, err := b.Admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := slices.IndexFunc(list.Items, func(n corev1.Node) bool { return len(n.Spec.PodCIDRs) == 0 })
	if n < 0 {
		t.Fatal("all Nodes have CIDRs")
	}
	return list.Items[n].Name
}

// If kube-controller-manager gives CIDRs, the daemon gives none. The daemon's log
// says who gives them (S11 d).
func TestNodeCIDRsBesideAnotherAllocator(t *testing.T) {
	b := onShared(t)
	mark := b.Audit(t).Mark()
	d := b.Daemon(t, daemon.Setup{Flags: givesCIDRs("10.128.0.0/9")})
	b.AwaitMetric(t, d, `node_ipam_controller_cirdset_max_cidrs{clusterCIDR="10.128.0.0/9"} 32768`) // This metric shows that the daemon has listed all Nodes.
	for range 4 {
		registered := time.Now()
		n := b.Register(t, nodes.New(b.Name("theirs")))
		b.AwaitNode(t, n.Name, expect.Soon, func(node *corev1.Node) error {
			if len(node.Spec.PodCIDRs) == 0 {
				return fmt.Errorf("%s has no CIDRs yet", node.Name)
			}
			return nil
		})
		// If a Node has had no CIDRs for ten seconds, the daemon concludes that nobody
		// else gives any.
		if waited := time.Since(registered); waited > 9*time.Second {
			t.Skipf("kube-controller-manager has taken %v to give a Node its CIDRs", waited)
		}
	}
	d.AwaitLogged(t, "another allocator is at work: playground has given") // playground is the binary of kube-controller-manager here
	b.AwaitMetric(t, d, "fairlead_node_cidrs_other_allocator 1")
	for _, r := range b.Audit(t).Since(mark).OfDaemons().Where(func(r audit.Request) bool { return strings.Contains(string(r.Body), "podCIDR") }) {
		t.Errorf("the daemon has given CIDRs: %s", r)
	}
}
