package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
)

// A provider that panics each time: the process is restarted again and again,
// as the kubelet would do it, and the Node still says why it waits.
func TestWaitingNodeSaysThatTheProviderPanics(t *testing.T) {
	b := onOwn(t)
	c := b.NewCloud(t)
	w := beginWaiting(t, b, c, waiter{
		name: "ProviderPanics", reason: "ProviderPanicked", words: "fault of the provider",
		instance: misbehaving("panic"), heal: unlabel("provider-fault"),
	})
	s := daemon.Setup{Provider: "modern", Cloud: c.URL}
	d := b.Daemon(t, s)
	w.tells(t)
	if code := d.AwaitExit(t, expect.Soon); code != 1 { // S8: three panics
		t.Errorf("the daemon has ended with code %d, want 1", code)
	}
	stop := keepRunning(t, b, d)
	defer func() { toldOncePerLife(t, b, w.instance.Name, stop()) }()
	w.shownThroughRestarts(t)
	stop()
	w.end(t)
	b.Daemon(t, s)
	w.recovers(t)
}

// noStream: each life of the daemon may tell once.
func toldOncePerLife(t *testing.T, b *bed.Bed, node string, lives int) {
	t.Helper()
	told, err := b.Events(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	n := expect.CountPrefix(told, "Warning CloudInitFailed")
	t.Logf("%d events in %d lives of the daemon", n, lives)
	if n > lives {
		t.Errorf("%d events in %d lives of the daemon: %q", n, lives, told)
	}
}

// shownThroughRestarts is shows, without a count of the events.
func (w *waiting) shownThroughRestarts(t *testing.T) {
	t.Helper()
	node := w.bed.AwaitNode(t, w.instance.Name, shownWithin, func(node *corev1.Node) error {
		if c := nodes.Condition(node); c == nil || c.Status != corev1.ConditionFalse || c.Reason != w.reason {
			return fmt.Errorf("condition %+v, want False %s: the Node has waited since %v", c, w.reason, node.CreationTimestamp)
		}
		return nil
	})
	if !nodes.IsTainted(node) {
		t.Error("the Node is released")
	}
	describe(t, w.bed, w.name, node.Name)
}

// keepRunning starts a daemon that has ended anew, again and again, as a
// kubelet does, with a delay that grows. The returned function ends that and
// says how many lives the daemon has had.
func keepRunning(t *testing.T, b *bed.Bed, d *daemon.Daemon) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	lives := make(chan int, 1)
	go func() {
		n := 1
		defer func() { lives <- n }()
		for delay := time.Second; ctx.Err() == nil; delay = min(2*delay, 10*time.Second) {
			c, err := process.Start(b.Dir, d.Argv...)
			if err != nil {
				t.Error(err)
				return
			}
			n++
			select {
			case <-c.Done():
			case <-ctx.Done():
				c.Kill()
			}
			bed.Pause(ctx, delay)
		}
	}()
	stop = sync.OnceValue(func() int { cancel(); return <-lives })
	t.Cleanup(func() { stop() })
	return stop
}

// A cloud whose quota somebody else uses up: 429 to every call, with the time
// at which to come back.
func TestWaitingNodeSaysThatTheCloudThrottles(t *testing.T) {
	b := onOwn(t)
	c := b.NewCloud(t)
	w := beginWaiting(t, b, c, waiter{name: "Throttled", reason: "CloudThrottled", words: "quota", instance: &simulator.Instance{}})
	fault := simulator.Fault{Name: "quota", Kind: simulator.FaultThrottle, Rate: 0.05, Burst: 1}
	if err := c.SetFault(t.Context(), fault); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	used := make(chan struct{})
	go useUp(ctx, c, used)
	<-used
	b.Daemon(t, daemon.Setup{Cloud: c.URL})
	w.tells(t)
	w.shows(t)
	stop()
	if err := c.ClearFault(t.Context(), fault.Name); err != nil {
		t.Fatal(err)
	}
	w.recovers(t)
}

// useUp makes calls as soon as the quota allows one, and says when it has made
// the first.
func useUp(ctx context.Context, c *bed.Cloud, used chan<- struct{}) {
	customer := simulator.NewClient(c.URL)
	for n := 0; ctx.Err() == nil; n++ {
		_, _ = customer.Instances(ctx) // Most are refused.
		if n == 0 {
			close(used)
		}
		bed.Pause(ctx, 5*time.Millisecond)
	}
}
