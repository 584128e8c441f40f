package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

// A provider panics for one Node. The Node says why it waits. The process keeps running,
// and other Nodes are initialised (S8). The daemon asks the provider about this Node
// again only after a long time. So the test starts another process, and the Node is
// initialised.
func TestWaitingNodeSaysThatTheProviderPanics(t *testing.T) {
	b := onOwn(t)
	c := b.NewCloud(t)
	w := beginWaiting(t, b, c, waiter{
		name: "ProviderPanics", reason: "ProviderPanicked", words: "bug in the provider",
		instance: bed.Misbehaving("panic"), heal: unlabel("provider-fault"),
	})
	s := daemon.Setup{Provider: "modern", Cloud: c.URL}
	d := b.Daemon(t, s)
	w.tells(t)
	joins(t, b, c, expect.Soon)
	w.shows(t)
	if d.Ended() {
		t.Errorf("one odd Node has ended the daemon: %s", d.Tail(5))
	}
	if n := d.CountLogged("The provider panicked"); n > 2 {
		t.Errorf("the provider was asked about the odd Node %d times", n)
	}
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	w.end(t)
	b.Daemon(t, s)
	w.recovers(t)
}

// Somebody else uses up the quota of the cloud. The cloud answers every call with 429
// and the time after which to call again.
func TestWaitingNodeSaysThatTheCloudThrottles(t *testing.T) {
	b := onOwn(t)
	c := b.NewCloud(t)
	w := beginWaiting(t, b, c, waiter{name: "Throttled", reason: "CloudThrottled", words: "quota", instance: &simulator.Instance{}})
	fault := simulator.Fault{Name: "quota", Kind: simulator.FaultThrottle, Rate: 0.01, Burst: 1}
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

// useUp uses up the quota with a call every 5 ms. It closes the channel after the first
// call.
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
