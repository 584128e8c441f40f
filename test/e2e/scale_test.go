package e2e

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// newFleet registers Nodes without kubelets, and creates an instance for each.
func newFleet(t *testing.T, b *bed.Bed, c *bed.Cloud, size int) (name string) {
	t.Helper()
	const parallel = 20
	name = b.Name("fleet")
	t.Cleanup(func() { // A request ends after a minute, which can be too short for many Nodes. The next one goes on.
		expect.WithinContext(context.WithoutCancel(t.Context()), t, 2*time.Minute, func(ctx context.Context) error {
			return b.Admin.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: nodepool.Label + "=" + name})
		})
	})
	numbers := make(chan int)
	var makers sync.WaitGroup
	for range parallel {
		makers.Go(func() {
			for n := range numbers {
				node := nodes.New(fmt.Sprintf("%s-%04d", name, n))
				node.Labels[nodepool.Label] = name
				if _, err := c.CreateInstance(t.Context(), simulator.Instance{Name: node.Name, Zone: "sim-1" + string("abc"[n%3])}); err != nil {
					t.Error(err)
				}
				if _, err := b.Admin.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range size {
		numbers <- n
	}
	close(numbers)
	makers.Wait()
	if t.Failed() {
		t.FailNow()
	}
	// kube-controller-manager writes to new Nodes, too. Its writes must not be
	// counted as those of the daemon.
	awaitFleet(t, b, name, size, time.Minute, func(n *corev1.Node) bool { return n.Spec.PodCIDR != "" })
	return name
}

// awaitFleet waits until holds(node) is true for each Node of the fleet.
func awaitFleet(t *testing.T, b *bed.Bed, name string, size int, within time.Duration, holds func(*corev1.Node) bool) {
	t.Helper()
	expect.Within(t, within, func(ctx context.Context) error {
		list, err := b.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: nodepool.Label + "=" + name, ResourceVersion: "0"})
		if err != nil {
			return err
		}
		done := 0
		for n := range list.Items {
			if holds(&list.Items[n]) {
				done++
			}
		}
		if done < size {
			return fmt.Errorf("%d of %d Nodes", done, size)
		}
		return nil
	})
}

// With default flags, initialising a Node costs one call, two writes and one event (P2).
// The time is only logged, because a busy machine takes longer.
// node.TestNodesAreInitialisedAtTheSpeedOfTheQuota and `make bench` check the time.
func TestThousandNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	const (
		size        = 1000
		quota       = 100 // calls a second
		burst       = 200
		allowed     = (size - burst) / quota * time.Second
		mostOfCalls = size * 115 / 100
	)
	b := onShared(t)
	c := b.NewCloud(t, "--latency=30ms", fmt.Sprintf("--quota=%d", quota), fmt.Sprintf("--quota-burst=%d", burst))
	name := newFleet(t, b, c, size)
	mark := b.Audit(t).Mark()

	began := time.Now()
	d := b.Daemon(t, daemon.Setup{Cloud: c.URL, Elect: true})
	awaitFleet(t, b, name, size, 3*time.Minute, func(n *corev1.Node) bool { return !nodes.IsTainted(n) })
	took := time.Since(began)
	var ours audit.Requests
	expect.Within(t, time.Minute, func(context.Context) error {
		ours = b.Audit(t).Since(mark).OfDaemons()
		if n := len(ours.Where(isNodeEvent)); n < size {
			return fmt.Errorf("%d events for %d Nodes", n, size)
		}
		return nil
	})
	report, err := c.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	patches := ours.Where(func(r audit.Request) bool {
		return r.Object.Resource == "nodes" && r.Writes() && r.Status.Code == http.StatusOK
	})
	conflicts := ours.Where(func(r audit.Request) bool { return r.Status.Code == http.StatusConflict })
	events := ours.Where(isNodeEvent)
	t.Logf("1,000 nodes: %.1f s, %d calls (%d throttled), %d writes (%d conflicts) and %d events; the quota allows %v",
		took.Seconds(), report.Count(), throttled(report), len(patches), len(conflicts), len(events), allowed)
	if n := report.Count(); n > mostOfCalls {
		t.Errorf("the cloud was called %d times, want at most %d", n, mostOfCalls)
	}
	for node, writes := range byNode(patches) {
		if len(writes) > 2 { // Writes that failed with a conflict are not counted here.
			t.Errorf("node %s was written %d times: %v", node, len(writes), writes)
		}
	}
	if len(events) != size {
		t.Errorf("%d events, want one for each Node", len(events))
	}
	if d.Ended() {
		t.Error("the daemon has ended")
	}
}

// isNodeEvent reports whether a request has recorded an event of the node controller. The
// election records events, too. A request that failed is repeated.
func isNodeEvent(r audit.Request) bool {
	return r.Object.Resource == "events" && r.Verb == "create" && r.Status.Code == http.StatusCreated && strings.HasSuffix(r.UserAgent, "/node-controller")
}

func throttled(report simulator.CallReport) int64 {
	var n int64
	for _, c := range report.Counters {
		if c.Result != simulator.ResultOK {
			n += c.Count
		}
	}
	return n
}

func byNode(all audit.Requests) map[string]audit.Requests {
	found := map[string]audit.Requests{}
	for _, r := range all {
		found[r.Object.Name] = append(found[r.Object.Name], r)
	}
	return found
}

// While nothing changes, only the lease is written, and each refresh makes one
// call for each page of the provider (P1). Meanwhile the daemon looks for other
// managers, with the chart's rights (V5).
func TestIdleFleet(t *testing.T) {
	const (
		size     = 200
		page     = 100
		period   = 10 * time.Second
		renewals = 15 // of the lease, one in two seconds
	)
	b := onOwn(t)
	c := b.NewCloud(t)
	name := newFleet(t, b, c, size)
	const another = "old-cloud-controller-manager"
	if _, err := b.Admin.CoreV1().Nodes().Patch(t.Context(), name+"-0000", types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/old":""}}}`), metav1.PatchOptions{FieldManager: another}); err != nil {
		t.Fatal(err)
	}
	d := b.Daemon(t, daemon.Setup{Cloud: c.URL, Elect: true, Flags: []string{"--node-status-update-frequency=" + period.String()}})
	awaitFleet(t, b, name, size, time.Minute, func(n *corev1.Node) bool { return !nodes.IsTainted(n) })
	expect.Within(t, expect.Soon, func(ctx context.Context) error { // Events may be written a little later than the Nodes.
		list, err := b.Admin.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "reason=Synced"})
		if err != nil {
			return err
		}
		told := slices.DeleteFunc(list.Items, func(e corev1.Event) bool { return !strings.HasPrefix(e.InvolvedObject.Name, name) })
		if len(told) < size {
			return fmt.Errorf("%d events for %d Nodes", len(told), size)
		}
		return nil
	})

	mark := b.Audit(t).Mark()
	if err := c.ResetCalls(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	expect.Within(t, 2*time.Minute, func(context.Context) error {
		if n := len(b.Audit(t).Since(mark).OfDaemons().Where(ofLease)); n < renewals {
			return fmt.Errorf("the lease was renewed %d times", n)
		}
		return nil
	})
	report, err := c.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	writes := b.Audit(t).Since(mark).OfDaemons().Writes().Where(func(r audit.Request) bool { return !ofLease(r) })
	if len(writes) > 0 {
		t.Errorf("%d writes while nothing changed, the first: %v", len(writes), writes[0])
	}
	most := int64(math.Ceil(took.Seconds()/period.Seconds()))*size/page + 1
	t.Logf("200 idle nodes over %v: %d calls of the cloud, %d renewals of the lease", took.Round(time.Second), report.Count(), renewals)
	if n := report.Count(); n > most {
		t.Errorf("the cloud was called %d times, want at most %d", n, most)
	}
	expect.Within(t, 2*time.Minute, func(context.Context) error { // the daemon looks for other managers 75 seconds after it has begun to lead
		if !d.Logged("another manager may be at work", another+" wrote 1 Node") {
			return errors.New("the daemon does not say that another manager has written a Node")
		}
		return nil
	})
}

func ofLease(r audit.Request) bool { return r.Object.Resource == "leases" && r.Verb == "update" }

// If the provider answers for one Node at a time, the calls are spread evenly
// over the period (P1).
func TestRefreshesAreSpread(t *testing.T) {
	const (
		size   = 20
		period = 4 * time.Second
		even   = size / int(period/time.Second) // calls a second
	)
	b := onShared(t)
	c := b.NewCloud(t)
	name := newFleet(t, b, c, size)
	slow := simulator.Fault{Name: "slow", Kind: simulator.FaultLatency, Latency: simulator.Duration(20 * time.Millisecond)} // Faster answers might come from a cache.
	if err := c.SetFault(t.Context(), slow); err != nil {
		t.Fatal(err)
	}
	d := b.Daemon(t, daemon.Setup{
		Provider: "modern", Cloud: c.URL,
		Flags: []string{"--node-status-update-frequency=" + period.String(), "--v=4"}, // with each call in the log
	})
	awaitFleet(t, b, name, size, time.Minute, func(n *corev1.Node) bool { return !nodes.IsTainted(n) })
	before := len(d.Log())
	awaitCalls(t, c, 2*size)
	// Take the times from the daemon's log. A busy machine may stop the cloud for a
	// moment, and then several calls reach it together.
	calls := callsBegun(t, d.Log()[before:])
	if len(calls) < size {
		t.Fatalf("the log has %d calls, want %d at least", len(calls), size)
	}
	busiest := busiestSecond(calls)
	t.Logf("%d calls, %d in the busiest second; even are %d", len(calls), busiest, even)
	if busiest > 3*even {
		t.Errorf("%d calls in one second, want about %d", busiest, even)
	}
}

// loggedCall matches the line that the daemon logs when a call of the cloud has returned.
var loggedCall = regexp.MustCompile(`(?m)^I(\d{4} [\d:.]+) .*"Called the cloud".* took="([^"]+)"`)

// callsBegun returns the times at which the calls in a daemon's log began, in their order.
func callsBegun(t *testing.T, log string) []time.Time {
	t.Helper()
	var all []time.Time
	for _, match := range loggedCall.FindAllStringSubmatch(log, -1) {
		ended, err := time.Parse("0102 15:04:05.000000", match[1])
		if err != nil {
			t.Fatal(err)
		}
		took, err := time.ParseDuration(match[2])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ended.Add(-took))
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

func busiestSecond(calls []time.Time) int {
	most := 0
	for n, first := range calls {
		end := slices.IndexFunc(calls[n:], func(c time.Time) bool { return c.Sub(first) > time.Second })
		if end < 0 {
			end = len(calls) - n
		}
		most = max(most, end)
	}
	return most
}
