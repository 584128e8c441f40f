package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

const (
	lifecycleSource  = "cloud-node-lifecycle-controller" // of our events
	conditionMissing = corev1.NodeConditionType("CloudInstanceMissing")

	// The limits in these tests, where they are not the defaults.
	absences  = 3
	absentFor = 4 * time.Second
	// goneWithin is the timeout for a deletion that is not held.
	goneWithin = time.Minute
)

// quickly returns flags with which evidence is complete after seconds. All
// rules still apply. All Nodes of the tests are young.
func quickly(more ...string) []string {
	return append(absentAfter(absentFor), more...)
}

func absentAfter(d time.Duration) []string {
	return []string{
		"--node-monitor-period=1s", "--node-monitor-longest-period=3s",
		"--node-deletion-absent-for=" + d.String(), "--node-deletion-young-absent-for=" + d.String(),
	}
}

// pool are initialised Nodes without kubelets, whose instances are in a cloud
// of their own.
type pool struct {
	*bed.Bed

	label   string // of the Nodes
	cloud   *bed.Cloud
	members []*member
	mark    int64 // of the audit log, before there was any of it
	lists   bool  // the provider looks in lists, and so the cloud's log tells nothing of single instances
	// begun has the times at which daemons were started. Evidence from before does not count.
	begun []time.Time
}

// member is a Node and its instance.
type member struct {
	*corev1.Node // as it was registered

	instance simulator.Instance
	// rules are the limits that the daemon has from its flags.
	rules rules
	// handled means that the test itself has deleted the Node.
	handled bool
}

// rules are what a deletion needs.
type rules struct {
	absences  int
	absentFor time.Duration
	alone     bool // the Node may be deleted without a witness
}

// newPool makes Nodes of a cloud of their own, and looks at the end of the test
// at each deletion.
func newPool(t *testing.T, b *bed.Bed, size int) *pool {
	t.Helper()
	wanted := make([]simulator.Instance, size)
	for n := range wanted {
		wanted[n].Zone = "sim-1" + string("abc"[n%3])
	}
	return newPoolOf(t, b, wanted...)
}

// newPoolOf returns a pool with these instances. Instances without a name get one.
func newPoolOf(t *testing.T, b *bed.Bed, wanted ...simulator.Instance) *pool {
	t.Helper()
	return newPoolNamed(t, b, nodes.ProviderID, wanted...)
}

// newPoolNamed returns a pool whose provider has another form of provider IDs.
func newPoolNamed(t *testing.T, b *bed.Bed, id func(simulator.Instance) string, wanted ...simulator.Instance) *pool {
	t.Helper()
	p := &pool{Bed: b, label: b.Name("pool"), mark: b.Audit(t).Mark()}
	p.cloud = b.NewCloud(t)
	expect.Cleanup(t, func(ctx context.Context) error {
		return b.Admin.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: labelFleet + "=" + p.label})
	})
	t.Cleanup(func() { p.judge(t) })
	// Instances first, so that IDs have the order of names.
	var instances []simulator.Instance
	for n, i := range wanted {
		i.Name = cmp.Or(i.Name, fmt.Sprintf("%s-%03d", p.label, n))
		instances = append(instances, p.instance(t, i))
	}
	p.members = make([]*member, len(instances))
	together(p.members, func(n int, _ *member) {
		node := nodes.NewInitialized(instances[n])
		node.Spec.ProviderID = id(instances[n])
		p.members[n] = p.create(t, node, instances[n])
	})
	if t.Failed() {
		t.FailNow()
	}
	return p
}

// instance creates one that lives as long as the cloud.
func (p *pool) instance(t *testing.T, i simulator.Instance) simulator.Instance {
	t.Helper()
	created, err := p.cloud.CreateInstance(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// newcomer adds a member whose instance and Node are as usual.
func (p *pool) newcomer(t *testing.T, base string) *member {
	t.Helper()
	i := p.instance(t, simulator.Instance{Name: p.Name(base)})
	return p.join(t, nodes.NewInitialized(i), i)
}

// join adds one member, made as the test likes.
func (p *pool) join(t *testing.T, node *corev1.Node, i simulator.Instance) *member {
	t.Helper()
	m := p.create(t, node, i)
	if m == nil {
		t.FailNow()
	}
	p.members = append(p.members, m)
	return m
}

func (p *pool) create(t *testing.T, node *corev1.Node, i simulator.Instance) *member {
	t.Helper()
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[labelFleet] = p.label
	created, err := p.Admin.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Error(err)
		return nil
	}
	return &member{Node: created, instance: i, rules: rules{absences: absences, absentFor: absentFor}}
}

// together calls do for all members, several at a time.
func together(all []*member, do func(int, *member)) {
	const parallel = 20
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for n := range numbers {
				do(n, all[n])
			}
		})
	}
	for n := range all {
		numbers <- n
	}
	close(numbers)
	workers.Wait()
}

// reports writes what a kubelet would have reported at a time, or what the
// control plane makes of a kubelet that is silent.
func (p *pool) reports(t *testing.T, status corev1.ConditionStatus, heartbeat time.Time, members ...*member) {
	t.Helper()
	reason := map[corev1.ConditionStatus]string{
		corev1.ConditionTrue: "KubeletReady", corev1.ConditionFalse: "KubeletNotReady", corev1.ConditionUnknown: "NodeStatusUnknown",
	}[status]
	at := heartbeat.UTC().Format(time.RFC3339)
	body := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q,"reason":%q,"lastHeartbeatTime":%q,"lastTransitionTime":%q}]}}`,
		status, reason, at, time.Now().UTC().Format(time.RFC3339))
	together(members, func(_ int, m *member) {
		_, err := p.Admin.CoreV1().Nodes().Patch(t.Context(), m.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
		if err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
}

// silence writes what kube-controller-manager writes when a kubelet is silent.
func (p *pool) silence(t *testing.T, members ...*member) {
	t.Helper()
	p.reports(t, corev1.ConditionUnknown, time.Now().Add(-40*time.Second), members...)
}

// wake writes what a kubelet writes when it reports again.
func (p *pool) wake(t *testing.T, members ...*member) {
	t.Helper()
	p.reports(t, corev1.ConditionTrue, time.Now(), members...)
}

// terminate ends instances for good; some may have ended before.
func (p *pool) terminate(t *testing.T, members ...*member) {
	t.Helper()
	together(members, func(_ int, m *member) {
		if err := p.cloud.TerminateInstance(t.Context(), m.instance.ID); err != nil && !simulator.IsNotFound(err) {
			t.Error(err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
}

// byHand deletes a Node as a person would.
func (p *pool) byHand(t *testing.T, m *member) {
	t.Helper()
	if err := p.Admin.CoreV1().Nodes().Delete(t.Context(), m.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	m.handled = true
}

// runs starts a daemon for the pool, with flags that make it quick.
func (p *pool) runs(t *testing.T, s daemon.Setup) *daemon.Daemon {
	t.Helper()
	if s.Cloud == "" {
		s.Cloud = p.cloud.URL
	}
	p.begun = append(p.begun, time.Now())
	return p.Daemon(t, s)
}

// left returns the UIDs of the pool's Nodes that still exist.
func (p *pool) left(ctx context.Context) (map[types.UID]bool, error) {
	list, err := p.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: labelFleet + "=" + p.label})
	if err != nil {
		return nil, err
	}
	there := map[types.UID]bool{}
	for _, node := range list.Items {
		there[node.UID] = true
	}
	return there, nil
}

// awaitGone waits until these Nodes are deleted.
func (p *pool) awaitGone(t *testing.T, within time.Duration, members ...*member) {
	t.Helper()
	expect.Within(t, within, func(ctx context.Context) error {
		there, err := p.left(ctx)
		if err != nil {
			return err
		}
		var names []string
		for _, m := range members {
			if there[m.UID] {
				names = append(names, m.Name)
			}
		}
		if len(names) == 0 {
			return nil
		}
		told, err := p.EventsOf(ctx, lifecycleSource, names[0])
		return errors.Join(fmt.Errorf("%d of %d Nodes are still there: %s; events of the first: %q",
			len(names), len(members), strings.Join(names, ", "), told), err)
	})
}

// stay fails the test if one of these Nodes is deleted.
func (p *pool) stay(t *testing.T, members ...*member) {
	t.Helper()
	there, err := p.left(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if !there[m.UID] {
			t.Errorf("node %s is deleted", m.Name)
		}
	}
}

// awaitTold waits until each Node has an event of the daemon that begins with one of
// these texts.
func (p *pool) awaitTold(t *testing.T, within time.Duration, members []*member, starts ...string) {
	t.Helper()
	for _, m := range members {
		expect.Within(t, within, func(ctx context.Context) error {
			all, err := p.EventsOf(ctx, lifecycleSource, m.Name)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(starts, func(start string) bool { return expect.CountPrefix(all, start) > 0 }) {
				return fmt.Errorf("node %s: no event %q among %q", m.Name, starts, all)
			}
			return nil
		})
	}
}

// awaitHeld waits until each of these Nodes says that its deletion is held,
// for one of the reasons.
func (p *pool) awaitHeld(t *testing.T, members []*member, reasons ...string) {
	t.Helper()
	var starts []string
	for _, reason := range reasons {
		starts = append(starts, "Warning NodeDeletionHeld: "+reason+": ")
	}
	p.awaitTold(t, time.Minute, members, starts...)
}

// awaitShown waits for the condition of these Nodes.
func (p *pool) awaitShown(t *testing.T, members []*member, status corev1.ConditionStatus, reasons ...string) {
	t.Helper()
	for _, m := range members {
		p.AwaitNode(t, m.Name, shownWithin, func(node *corev1.Node) error {
			c := missing(node)
			switch {
			case c == nil:
				return errors.New("no condition")
			case c.Status != status, len(reasons) > 0 && !slices.Contains(reasons, c.Reason):
				return fmt.Errorf("condition %s %s: %s, want %s %q", c.Status, c.Reason, c.Message, status, reasons)
			}
			return nil
		})
	}
}

func missing(node *corev1.Node) *corev1.NodeCondition {
	n := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == conditionMissing })
	if n < 0 {
		return nil
	}
	return &node.Status.Conditions[n]
}

// deletions returns the daemons' requests to delete Nodes of the pool, in order.
func (p *pool) deletions(t *testing.T) audit.Requests {
	t.Helper()
	return p.Audit(t).Since(p.mark).OfDaemons().Where(func(r audit.Request) bool {
		return r.Verb == "delete" && r.Resource() == "nodes" && slices.ContainsFunc(p.members, func(m *member) bool { return m.Name == r.Object.Name })
	})
}
