package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

const (

	// retriedWithin is the longest time to wait until a Node is initialised after the
	// reason of its wait is gone.
	retriedWithin = 2 * time.Minute
)

// waiter describes a Node that has to wait, and the reason and the message that the Node
// then shows.
type waiter struct {
	name   string
	reason string
	words  string // a part of the message that names the cause or the way out
	// instance is the instance in the cloud, or nil if there is none.
	instance *simulator.Instance
	// node changes the Node before it is registered.
	node func(n *corev1.Node, i simulator.Instance)
	// fault hits the calls about this instance.
	fault *simulator.Fault
	// heal removes the reason of the wait. It is nil if the fault is the reason.
	heal func(*testing.T, *waiting)
}

// waiting is a waiter whose objects have been created in a bed and a cloud.
type waiting struct {
	waiter

	bed      *bed.Bed
	cloud    *bed.Cloud
	instance simulator.Instance
}

// beginWaiting creates the objects that the waiter needs.
func beginWaiting(t *testing.T, b *bed.Bed, c *bed.Cloud, w waiter) *waiting {
	t.Helper()
	on := &waiting{waiter: w, bed: b, cloud: c}
	on.instance.Name = b.Name(strings.ToLower(w.name))
	if w.instance != nil {
		wanted := *w.instance
		wanted.Name = on.instance.Name
		on.instance = c.Instance(t, wanted)
	}
	if w.fault != nil {
		fault := *w.fault
		fault.Name, fault.Match = on.instance.Name, on.instance.Name
		if err := c.SetFault(t.Context(), fault); err != nil {
			t.Fatal(err)
		}
	}
	node := nodes.New(on.instance.Name)
	if w.node != nil {
		w.node(node, on.instance)
	}
	b.Register(t, node)
	return on
}

// end removes the reason of the wait.
func (w *waiting) end(t *testing.T) {
	t.Helper()
	if w.fault != nil {
		if err := w.cloud.ClearFault(t.Context(), w.instance.Name); err != nil {
			t.Fatal(err)
		}
	}
	if w.heal != nil {
		w.heal(t, w)
	}
	// After several failures the daemon asks about a Node again only after a long delay.
	// A change of the Node makes it ask at once.
	w.bed.Patch(t, w.instance.Name, `{"metadata":{"labels":{"ended":"true"}}}`)
}

func unlabel(key string) func(*testing.T, *waiting) {
	return func(t *testing.T, w *waiting) {
		t.Helper()
		w.instance = w.cloud.Change(t, w.instance, simulator.InstancePatch{Labels: map[string]*string{key: nil}})
	}
}

// waiters returns Nodes that wait for different reasons, in groups. If calls about three
// Nodes fail without an answer in between, the daemon considers the cloud down and holds
// all calls back. Then all Nodes show this reason instead of their own. So in each group,
// calls fail for at most two Nodes.
func waiters() map[string][]waiter {
	plainly := &simulator.Instance{}
	return map[string][]waiter{
		"Denied": {
			{name: "Unauthenticated", reason: "CloudDenied", words: "credentials", instance: plainly, fault: &simulator.Fault{Kind: simulator.FaultDenied, Status: 401}},
			{name: "Forbidden", reason: "CloudDenied", words: "credentials", instance: plainly, fault: &simulator.Fault{Kind: simulator.FaultDenied, Status: 403}},
			{
				name: "NoAddressMatches", reason: "NodeIPNotOffered", words: "127.0.86.86", instance: plainly,
				node: func(n *corev1.Node, _ simulator.Instance) {
					n.Annotations = map[string]string{api.AnnotationAlphaProvidedIPAddr: "127.0.86.86"}
				},
				heal: func(t *testing.T, w *waiting) {
					w.instance = w.cloud.Change(t, w.instance, simulator.InstancePatch{Addresses: nodes.CloudAddresses("InternalIP=127.0.86.86")})
				},
			},
		},
		"Failing": {
			{name: "CloudIsDown", reason: "CloudUnavailable", words: "503", instance: plainly, fault: &simulator.Fault{Kind: simulator.FaultOutage}},
			{name: "CloudFails", reason: "CloudUnavailable", words: "500", instance: plainly, fault: &simulator.Fault{Kind: simulator.FaultError}},
			{
				name: "AnotherProviderID", reason: "ProviderIDMismatch", words: "simulated://elsewhere/", instance: plainly,
				node: func(n *corev1.Node, i simulator.Instance) { n.Spec.ProviderID = "simulated://elsewhere/" + i.ID },
				heal: func(t *testing.T, w *waiting) {
					w.instance = w.cloud.Change(t, w.instance, simulator.InstancePatch{Region: new("elsewhere")})
				},
			},
		},
		"Broken": {
			{name: "NoSuchInstance", reason: "InstanceNotFound", words: "no instance", heal: func(t *testing.T, w *waiting) {
				w.instance = w.cloud.Instance(t, simulator.Instance{Name: w.instance.Name})
			}},
			{name: "CloudResets", reason: "CloudUnavailable", words: "reset", instance: plainly, fault: &simulator.Fault{Kind: simulator.FaultReset}},
			{name: "ProviderReturnsNil", reason: "NoMetadata", words: "neither", instance: bed.Misbehaving("nil"), heal: unlabel("provider-fault")},
		},
		"Slow": {
			{name: "CloudHangs", reason: "CloudSlow", words: "not answered", instance: plainly, fault: &simulator.Fault{Kind: simulator.FaultHang}},
			{name: "ProviderIgnoresItsContext", reason: "CloudSlow", words: "not answered", instance: bed.Misbehaving("ignores-context"), heal: unlabel("provider-fault")},
			{
				name: "InvalidLabelValue", reason: "InvalidLabel", words: "not valid!",
				instance: &simulator.Instance{Labels: map[string]string{"rack": "not valid!"}}, heal: unlabel("rack"),
			},
			{
				name: "InvalidType", reason: "InvalidLabel", words: "far/too/wide", instance: &simulator.Instance{Type: "far/too/wide"},
				heal: func(t *testing.T, w *waiting) {
					w.instance = w.cloud.Change(t, w.instance, simulator.InstancePatch{Type: new("small")})
				},
			},
		},
	}
}

// A Node that waits shows why (V1): by one event, and after a minute by a condition that
// stays. When the wait is over, the condition says so.
func TestWaitingNodeSaysWhy(t *testing.T) {
	b := onOwn(t)
	c := b.NewCloud(t)
	mark := b.Audit(t).Mark()
	d := b.Daemon(t, daemon.Setup{Provider: "modern", Cloud: c.URL, Flags: []string{"--node-strict-provider-ids"}})
	for group, members := range waiters() {
		t.Run(group, func(t *testing.T) {
			var all []*waiting
			for _, w := range members {
				all = append(all, beginWaiting(t, b, c, w))
			}
			forEach(t, "Event", all, (*waiting).tells)
			forEach(t, "Condition", all, (*waiting).shows)
			t.Run("Metrics", func(t *testing.T) { countsWaiting(t, b, d, all) })
			t.Run("Explained", func(t *testing.T) { explained(t, b, d, all) })
			forEach(t, "Writes", all, func(w *waiting, t *testing.T) { w.wroteOnce(t, mark) })
			for _, w := range all {
				w.end(t)
			}
			forEach(t, "Recovery", all, (*waiting).recovers)
		})
	}
}

// forEach calls the function look for each waiter, in a subtest of its own.
func forEach(t *testing.T, what string, all []*waiting, look func(*waiting, *testing.T)) {
	t.Helper()
	t.Run(what, func(t *testing.T) {
		for _, w := range all {
			t.Run(w.name, func(t *testing.T) { look(w, t) })
		}
	})
}

// tells waits for the event that says why the Node waits.
func (w *waiting) tells(t *testing.T) {
	w.bed.AwaitEvent(t, w.instance.Name, time.Minute, "Warning CloudInitFailed: "+w.reason+": ")
}

// shows waits for the condition, and checks that there is only one event about the
// Node and that the Node still has its taint.
func (w *waiting) shows(t *testing.T) {
	node := w.bed.AwaitNode(t, w.instance.Name, nodepool.ShownWithin, func(node *corev1.Node) error {
		c := nodes.Condition(node)
		switch {
		case c == nil:
			return errors.New("no condition")
		case c.Status != corev1.ConditionFalse || c.Reason != w.reason || !strings.Contains(c.Message, w.words):
			return fmt.Errorf("condition %s %s: %s, want False %s and %q in it", c.Status, c.Reason, c.Message, w.reason, w.words)
		default:
			return nil
		}
	})
	if !nodes.IsTainted(node) {
		t.Error("the Node is released")
	}
	describe(t, w.bed, w.name, node.Name)
	told, err := w.bed.Events(t.Context(), node.Name)
	if err != nil {
		t.Fatal(err)
	}
	if n := expect.CountPrefix(told, "Warning CloudInitFailed"); n != 1 || len(told) != 1 {
		t.Errorf("%d events, want one and no more: %q", len(told), told)
	}
	if told := told[0]; !strings.Contains(told, w.words) {
		t.Errorf("event %q does not say %q", told, w.words)
	}
}

// explained checks that `kubectl fairlead explain` prints the same reasons and messages
// as the Nodes' conditions.
func explained(t *testing.T, b *bed.Bed, d *daemon.Daemon, all []*waiting) {
	var found struct {
		Items []struct {
			Object  struct{ Kind, Key string }
			State   string
			Why     struct{ Shown, Reason, Message string }
			Writers []struct{ Field, Manager string }
		}
	}
	before := map[string]*corev1.NodeCondition{} // The daemon can write the condition while the command runs. So the condition from before counts, too.
	for _, w := range all {
		before[w.instance.Name] = nodes.Condition(b.Node(t, w.instance.Name))
	}
	if err := json.Unmarshal([]byte(b.Fairlead(t, "explain", "--waiting", "-o", "json")), &found); err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		shown := nodes.Condition(b.Node(t, w.instance.Name))
		for _, item := range found.Items {
			if item.Object.Kind != "node" || item.Object.Key != w.instance.Name {
				continue
			}
			says := func(c *corev1.NodeCondition) bool {
				return item.Why.Reason == c.Reason && item.Why.Message == c.Message
			}
			if item.State != "waits" || item.Why.Shown != "condition CloudInitialized=False" || !says(before[w.instance.Name]) && !says(shown) {
				t.Errorf("%s: %+v, and the Node shows %s: %s", w.name, item, shown.Reason, shown.Message)
			}
			if !slices.ContainsFunc(item.Writers, func(w struct{ Field, Manager string }) bool {
				return w.Field == "condition CloudInitialized" && w.Manager != ""
			}) {
				t.Errorf("%s: written by %+v", w.name, item.Writers)
			}
			shown = nil
		}
		if shown != nil {
			t.Errorf("%s is not in the list of what waits", w.name)
		}
	}
	text := b.Fairlead(t, "explain", "node/"+all[0].instance.Name)
	for _, part := range []string{"It waits to be initialised.", all[0].reason + ": ", "no daemon that takes a Lease has led here", "source      offline"} {
		if !strings.Contains(text, part) {
			t.Errorf("the answer does not have %q:\n%s", part, text)
		}
	}
	explainedLive(t, b, d, all[0])
}

// explainedLive checks that `kubectl fairlead explain` can ask the daemon, and prints the
// daemon's memory of the waiter.
func explainedLive(t *testing.T, b *bed.Bed, d *daemon.Daemon, w *waiting) {
	var found struct {
		Source, NotLive string
		Memory          []struct {
			Controller, Reason string
			Attempts           int
			Since, NextLook    time.Time
		}
	}
	text := b.Fairlead(t, "explain", "node/"+w.instance.Name, "-o", "json", "--daemon-insecure", fmt.Sprintf("--daemon=https://127.0.0.1:%d", d.Port))
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	if found.Source != "live" || len(found.Memory) == 0 {
		t.Fatalf("the daemon's memory is not in the answer:\n%s", text)
	}
	m := found.Memory[0]
	if m.Controller != "cloud-node-controller" || m.Reason != w.reason || m.Since.IsZero() {
		t.Errorf("the daemon remembers %+v", m)
	}
	isUseless := w.reason == "InstanceNotFound" || w.reason == "CloudDenied" // to ask again soon
	if isUseless && (m.Attempts == 0 || m.NextLook.IsZero()) {
		t.Errorf("the daemon does not remember its questions that were in vain: %+v", m)
	}
}

// wroteOnce checks that the condition is the only write to a Node that waits.
func (w *waiting) wroteOnce(t *testing.T, mark int64) {
	writes := w.bed.Audit(t).Since(mark).OfDaemons().OfNode(w.instance.Name).Writes()
	if err := expect.Equal("writes", []string{"patch nodes/status"}, writes.Lines()); err != nil {
		t.Error(err)
	}
}

// recovers waits until the Node is initialised without more help.
func (w *waiting) recovers(t *testing.T) {
	node := w.bed.AwaitNode(t, w.instance.Name, retriedWithin, func(node *corev1.Node) error {
		i := w.instance
		i.Labels = withoutFaults(i.Labels)
		if err := nodes.As(i, nodes.AddressesOf(i)...)(node); err != nil {
			return err
		}
		if c := nodes.Condition(node); c != nil {
			return fmt.Errorf("condition %+v, want none", c)
		}
		return nil
	})
	w.bed.AwaitEvent(t, node.Name, expect.Soon, "Normal Synced")
}

func withoutFaults(labels map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range labels {
		if key != "provider-fault" {
			kept[key] = value
		}
	}
	return kept
}

// countsWaiting checks the metrics of Nodes that wait.
func countsWaiting(t *testing.T, b *bed.Bed, d *daemon.Daemon, all []*waiting) {
	t.Helper()
	want := map[string]int{}
	for _, w := range all {
		want[w.reason]++
	}
	for reason, n := range want {
		b.AwaitMetric(t, d, fmt.Sprintf("fairlead_nodes_waiting{reason=%q} %d", reason, n))
	}
	metrics, err := b.Metrics(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	oldest := ""
	for _, line := range metrics {
		if value, ok := strings.CutPrefix(line, "fairlead_nodes_waiting_oldest_seconds "); ok {
			oldest = value
		}
	}
	if seconds, err := time.ParseDuration(oldest + "s"); err != nil || seconds < time.Minute {
		t.Errorf("the oldest has waited for %q seconds, want more than a minute", oldest)
	}
}

// describe logs the output of kubectl describe for the Node.
func describe(t *testing.T, b *bed.Bed, title, node string) {
	t.Helper()
	if _, err := exec.LookPath("kubectl"); err != nil {
		return
	}
	text, err := bed.Output(t.Context(), "kubectl", "--kubeconfig", b.Cluster.Kubeconfig, "describe", "node", node)
	if err != nil {
		t.Logf("kubectl: %v", err)
		return
	}
	var lines []string
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(describedWords(), func(word string) bool { return strings.Contains(line, word) }) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	t.Logf("%s: kubectl describe node says\n%s", title, strings.Join(lines, "\n"))
}

// describedWords returns the words that select what the function describe logs: the lines
// of kubectl's output that have one of these words.
func describedWords() []string {
	return []string{"Taints:", string(nodes.ConditionInitialized), string(nodepool.ConditionMissing), "CloudInitFailed", "NodeDeletion", "DeletingNode"}
}
