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
	"github.com/fairlead-k8s/fairlead/test/e2e/proxy"
)

// The API server goes away in the middle of an initialisation. The daemon
// lives on, ends what it has begun, and sees what joins afterwards.
func TestAPIServerRestartsInTheMiddle(t *testing.T) {
	for place, match := range map[string]proxy.Match{"StatusPatch": statusPatches, "NodePatch": nodePatches} {
		t.Run(place, func(t *testing.T) {
			b := onShared(t)
			i := b.kubelet(t, simulator.Instance{Name: b.name("restart")})
			api := b.apiProxy(t)
			trap := api.Trap(match, 1, proxy.Before)
			d := b.daemon(t, setup{api: api})
			sprung(t, trap)
			b.restartsAPIServer(t, trap)

			b.awaitNode(t, i.Name, 2*time.Minute, is(i, stated(i)...))
			b.awaitEvent(t, i.Name, soon, "Normal Synced")
			later := b.boot(t, simulator.Instance{Name: b.name("restart")})[0]
			b.awaitNode(t, later.Name, 2*time.Minute, is(later, stated(later)...))
			if d.Ended() {
				t.Errorf("the daemon has ended with code %d", d.Code())
			}
		})
	}
}

// restartsAPIServer kills the API server while a request is trapped before it,
// and starts it again.
func (b *bed) restartsAPIServer(t *testing.T, trap *proxy.Trap) {
	t.Helper()
	if _, err := b.command(t.Context(), "stop", "--kill", "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	trap.Release() // into the void
	if _, err := b.command(t.Context(), "start", "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
}

// Others write the Node as fast as they can while it is initialised. It is
// initialised all the same, and nothing of theirs is lost.
func TestConflictStorm(t *testing.T) {
	const writers, within = 8, time.Minute
	b := onShared(t)
	i := b.kubelet(t, simulator.Instance{Name: b.name("storm")})
	mark := b.audit(t).mark()
	if err := b.cloud.ResetCalls(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := storm{bed: b, node: i.Name, last: make([]int, writers)}
	s.blow(t)
	began := time.Now()
	t.Cleanup(func() {
		took := time.Since(began)
		writes := b.audit(t).since(mark).ours().of(i.Name).writes()
		conflicts := writes.where(func(r request) bool { return r.Status.Code == http.StatusConflict })
		t.Logf("%v in a storm of %.0f writes a second: %d of our %d writes met a conflict",
			took.Round(time.Millisecond), float64(s.written())/took.Seconds(), len(conflicts), len(writes))
	})
	b.daemon(t, setup{})
	node := b.awaitNode(t, i.Name, within, func(node *corev1.Node) error {
		if tainted(node) {
			return errors.New("it is not initialised, because others keep writing it")
		}
		return nil
	})
	s.calm()
	if err := is(i, stated(i)...)(node); err != nil {
		t.Error(err)
	}
	node = b.node(t, i.Name)
	for w, n := range s.last {
		if got := node.Annotations[fmt.Sprintf("storm-%d", w)]; got != strconv.Itoa(n) {
			t.Errorf("writer %d wrote %d last, the Node has %s", w, n, got)
		}
	}
	calls, err := b.cloud.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// A conflict means that the Node is read again, and not the cloud.
	if n := calls.Count(); n > 3 {
		t.Errorf("the cloud was called %d times, want once, or little more", n)
	}
}

// storm are writers of one Node.
type storm struct {
	*bed

	node string
	last []int // what each writer has written last
	calm func()
}

// blow writes until calm is called, at the latest at the end of the test.
func (s *storm) blow(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range s.last {
		writers.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				body := fmt.Appendf(nil, `{"metadata":{"annotations":{"storm-%d":"%d"}}}`, w, n)
				// What has begun is finished, so that its outcome is known.
				_, err := s.admin.CoreV1().Nodes().Patch(context.WithoutCancel(ctx), s.node, types.StrategicMergePatchType, body, metav1.PatchOptions{})
				switch {
				case err == nil:
					s.last[w] = n
				case !apierrors.IsConflict(err): // the server has used up its own retries
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

// A taint that somebody adds while the Node is initialised stays, and so do
// labels and annotations.
func TestWhatOthersWriteInTheMiddleStays(t *testing.T) {
	for place, match := range map[string]proxy.Match{"BeforeTheStatusPatch": statusPatches, "BeforeTheNodePatch": nodePatches} {
		t.Run(place, func(t *testing.T) {
			b := onShared(t)
			i := b.kubelet(t, simulator.Instance{Name: b.name("taint")})
			api := b.apiProxy(t)
			trap := api.Trap(match, 1, proxy.Before)
			b.daemon(t, setup{api: api})
			sprung(t, trap)
			b.patch(t, i.Name, `{"metadata":{"labels":{"team":"mine"}},"spec":{"taints":[
				{"key":"node.cloudprovider.kubernetes.io/uninitialized","value":"true","effect":"NoSchedule"},
				{"key":"maintenance","value":"tonight","effect":"NoExecute"}]}}`)
			trap.Release()
			node := b.awaitNode(t, i.Name, soon, is(i, stated(i)...))
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

// While a write is on its way the Node is replaced by another one of the same
// name, with another instance behind it. The late write must not hit it.
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
			cloud := b.bareCloud(t)
			first, old := b.pair(t, cloud, simulator.Instance{Name: b.name("replaced"), Addresses: offered("InternalIP=127.0.85.1")})
			api := b.apiProxy(t)
			run := setup{api: api, cloud: cloud.url, flags: []string{"--node-status-update-frequency=500ms"}}
			if tt.initialised {
				b.daemon(t, run)
				b.awaitNode(t, old.Name, soon, initialized)
			}
			trap := api.Trap(tt.match, 1, proxy.Before)
			if tt.initialised {
				cloud.change(t, first, simulator.InstancePatch{Addresses: offered("InternalIP=127.0.85.1", "InternalIP=fd00::85")})
			} else {
				b.daemon(t, run)
			}
			sprung(t, trap)

			if err := b.admin.CoreV1().Nodes().Delete(t.Context(), old.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := cloud.TerminateInstance(t.Context(), first.ID); err != nil {
				t.Fatal(err)
			}
			mark := b.audit(t).mark()
			second, now := b.pair(t, cloud, simulator.Instance{Name: old.Name, Type: "medium", Addresses: offered("InternalIP=127.0.85.2")})
			trap.Release()
			node := b.awaitNode(t, old.Name, soon, initialized)
			if err := errors.Join(differ("UID", now.UID, node.UID), is(second, stated(second)...)(node)); err != nil {
				t.Error(err)
			}
			for _, r := range b.audit(t).since(mark).ours().of(old.Name).writes() {
				if late := bytes.Contains(r.Body, []byte(first.ID)) || bytes.Contains(r.Body, []byte("127.0.85.1")); late && r.Status.Code == http.StatusOK {
					t.Errorf("the next Node was written with what is the first one's: %v", r)
				}
			}
		})
	}
}
