package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

// The API server goes away in the middle of an initialisation. The daemon keeps
// running, completes the initialisation, and initialises Nodes that join
// afterwards.
func TestAPIServerRestartsInTheMiddle(t *testing.T) {
	for place, match := range map[string]proxy.Match{"StatusPatch": statusPatches, "NodePatch": nodePatches} {
		t.Run(place, func(t *testing.T) {
			b := onShared(t)
			i := b.Kubelet(t, simulator.Instance{Name: b.Name("restart")})
			api := b.BeforeAPIServer(t)
			trap := api.Trap(match, 1, proxy.Before)
			d := b.Daemon(t, daemon.Setup{API: api})
			bed.AwaitTrap(t, trap)
			b.RestartAPIServer(t, trap)

			b.AwaitNode(t, i.Name, 2*time.Minute, nodes.As(i, nodes.AddressesOf(i)...))
			b.AwaitEvent(t, i.Name, expect.Soon, "Normal Synced")
			later := b.Boot(t, simulator.Instance{Name: b.Name("restart")})[0]
			b.AwaitNode(t, later.Name, 2*time.Minute, nodes.As(later, nodes.AddressesOf(later)...))
			if d.Ended() {
				t.Errorf("the daemon has ended with code %d", d.Code())
			}
		})
	}
}

// Other clients write the Node as fast as they can while the daemon initialises it.
// The Node is initialised nevertheless, and no change of the other clients is lost.
func TestConflictStorm(t *testing.T) {
	const writers, within = 8, time.Minute
	b := onShared(t)
	i := b.Kubelet(t, simulator.Instance{Name: b.Name("storm")})
	mark := b.Audit(t).Mark()
	if err := b.Cloud.ResetCalls(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := storm{Bed: b, node: i.Name, last: make([]int, writers)}
	s.blow(t)
	began := time.Now()
	t.Cleanup(func() {
		took := time.Since(began)
		s.calm()
		writes := b.Audit(t).Since(mark).OfDaemons().OfNode(i.Name).Writes()
		conflicts := writes.Where(func(r audit.Request) bool { return r.Status.Code == http.StatusConflict })
		t.Logf("%v in a storm of %.0f writes a second: %d of our %d writes met a conflict",
			took.Round(time.Millisecond), float64(s.written())/took.Seconds(), len(conflicts), len(writes))
	})
	b.Daemon(t, daemon.Setup{})
	node := b.AwaitNode(t, i.Name, within, func(node *corev1.Node) error {
		if nodes.IsTainted(node) {
			return errors.New("it is not initialised, because others keep writing it")
		}
		return nil
	})
	s.calm()
	if err := nodes.As(i, nodes.AddressesOf(i)...)(node); err != nil {
		t.Error(err)
	}
	node = b.Node(t, i.Name)
	for w, n := range s.last {
		if got := node.Annotations[fmt.Sprintf("storm-%d", w)]; got != strconv.Itoa(n) {
			t.Errorf("writer %d wrote %d last, the Node has %s", w, n, got)
		}
	}
	calls, err := b.Cloud.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// After a conflict the Node is read again, but the cloud is not asked again. The
	// cloud's answer can be used for a minute.
	if n := calls.Count(); n > 3+int64(time.Since(began)/time.Minute) {
		t.Errorf("the cloud was called %d times, want once, or little more", n)
	}
}

// storm is a group of writers that change one Node.
type storm struct {
	*bed.Bed

	node string
	last []int // the last number that each writer has written
	calm func()
}

// blow starts the writers. They write until calm is called or the test ends.
func (s *storm) blow(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range s.last {
		writers.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				body := fmt.Appendf(nil, `{"metadata":{"annotations":{"storm-%d":"%d"}}}`, w, n)
				// A write that has begun is finished, so that its outcome is known.
				_, err := s.Admin.CoreV1().Nodes().Patch(context.WithoutCancel(ctx), s.node, types.StrategicMergePatchType, body, metav1.PatchOptions{})
				switch {
				case err == nil:
					s.last[w] = n
				case !apierrors.IsConflict(err): // A conflict means that the server has used up its own retries.
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	s.calm = func() { cancel(); writers.Wait() }
	t.Cleanup(s.calm)
}

func (s *storm) written() int {
	sum := 0
	for _, n := range s.last {
		sum += n
	}
	return sum
}

// A taint or a label stays on the Node if somebody adds it during the
// initialisation.
func TestWhatOthersWriteInTheMiddleStays(t *testing.T) {
	for place, match := range map[string]proxy.Match{"BeforeTheStatusPatch": statusPatches, "BeforeTheNodePatch": nodePatches} {
		t.Run(place, func(t *testing.T) {
			b := onShared(t)
			i := b.Kubelet(t, simulator.Instance{Name: b.Name("taint")})
			api := b.BeforeAPIServer(t)
			trap := api.Trap(match, 1, proxy.Before)
			b.Daemon(t, daemon.Setup{API: api})
			bed.AwaitTrap(t, trap)
			b.Patch(t, i.Name, `{"metadata":{"labels":{"team":"mine"}},"spec":{"taints":[
				{"key":"node.cloudprovider.kubernetes.io/uninitialized","value":"true","effect":"NoSchedule"},
				{"key":"maintenance","value":"tonight","effect":"NoExecute"}]}}`)
			trap.Release()
			node := b.AwaitNode(t, i.Name, expect.Soon, nodes.As(i, nodes.AddressesOf(i)...))
			if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
				return t.Key == "maintenance" && t.Value == "tonight" && t.Effect == corev1.TaintEffectNoExecute
			}) {
				t.Errorf("the other taint is lost: %v", node.Spec.Taints)
			}
			if node.Labels["team"] != "mine" {
				t.Errorf("the other label is lost: %v", node.Labels)
			}
		})
	}
}

// While a write is delayed, somebody replaces its Node. The new Node has the same
// name, but another instance. The late write must not change the new Node.
func TestWriteOnItsWayDoesNotHitTheNextNodeOfThatName(t *testing.T) {
	for _, tt := range []struct {
		name        string
		match       proxy.Match
		initialised bool
	}{
		{"StatusPatch", statusPatches, false},
		{"NodePatch", nodePatches, false},
		{"StatusPatchOfAnInitialisedNode", statusPatches, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := onShared(t)
			cloud := b.NewCloud(t)
			first, old := b.Pair(t, cloud, simulator.Instance{Name: b.Name("replaced"), Addresses: nodes.CloudAddresses("InternalIP=127.0.85.1")})
			api := b.BeforeAPIServer(t)
			run := daemon.Setup{API: api, Cloud: cloud.URL, Flags: []string{"--node-status-update-frequency=500ms"}}
			if tt.initialised {
				b.Daemon(t, run)
				b.AwaitNode(t, old.Name, expect.Soon, nodes.Initialized)
			}
			trap := api.Trap(tt.match, 1, proxy.Before)
			if tt.initialised {
				cloud.Change(t, first, simulator.InstancePatch{Addresses: nodes.CloudAddresses("InternalIP=127.0.85.1", "InternalIP=fd00::85")})
			} else {
				b.Daemon(t, run)
			}
			bed.AwaitTrap(t, trap)

			if err := b.Admin.CoreV1().Nodes().Delete(t.Context(), old.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := cloud.TerminateInstance(t.Context(), first.ID); err != nil {
				t.Fatal(err)
			}
			mark := b.Audit(t).Mark()
			second, now := b.Pair(t, cloud, simulator.Instance{Name: old.Name, Type: "medium", Addresses: nodes.CloudAddresses("InternalIP=127.0.85.2")})
			trap.Release()
			node := b.AwaitNode(t, old.Name, expect.Soon, nodes.Initialized)
			if err := errors.Join(expect.Equal("UID", now.UID, node.UID), nodes.As(second, nodes.AddressesOf(second)...)(node)); err != nil {
				t.Error(err)
			}
			for _, r := range b.Audit(t).Since(mark).OfDaemons().OfNode(old.Name).Writes() {
				if late := bytes.Contains(r.Body, []byte(first.ID)) || bytes.Contains(r.Body, []byte("127.0.85.1")); late && r.Status.Code == http.StatusOK {
					t.Errorf("the next Node was written with what is the first one's: %v", r)
				}
			}
		})
	}
}
