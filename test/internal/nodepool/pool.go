// Package nodepool makes many initialised Nodes. They have no kubelets, and their
// instances are in a cloud of their own. At the end of a test, it checks each deletion:
// the Node was not healthy, and there was the evidence that promise S1 requires.
package nodepool

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

const (
	// Source is the source of the daemon's events about removal.
	Source = "cloud-node-lifecycle-controller"
	// ConditionMissing is the type of the condition of a Node whose instance is
	// missing.
	ConditionMissing = corev1.NodeConditionType("CloudInstanceMissing")
	// ShownWithin is the timeout for the condition ConditionMissing. The condition is due
	// after a minute, and the daemon writes it at its next check of the Node.
	ShownWithin = 2 * time.Minute

	// Absences is the number of absences that a deletion needs in these tests.
	Absences = 3
	// AbsentFor is the time for which an instance has to be absent in these tests.
	AbsentFor = 4 * time.Second
	// GoneWithin is the timeout for a deletion that is not held.
	GoneWithin = time.Minute
)

// Quickly returns flags that make evidence complete after some seconds. All rules
// still apply. All Nodes of the tests are young, so the limit for young Nodes is
// short, too.
func Quickly(more ...string) []string {
	return append(AbsentAfter(AbsentFor), more...)
}

// AbsentAfter returns flags that require an instance to be absent for the time d.
func AbsentAfter(d time.Duration) []string {
	return []string{
		"--node-monitor-period=1s", "--node-monitor-longest-period=3s",
		"--node-deletion-absent-for=" + d.String(), "--node-deletion-young-absent-for=" + d.String(),
	}
}

// Pool is a set of initialised Nodes. They have no kubelets, and their instances are in a
// cloud of their own.
type Pool struct {
	*bed.Bed

	Label   string // the value of the Nodes' label with the key Label
	Cloud   *bed.Cloud
	Members []*Member
	Mark    int64 // the end of the audit log before the pool was made
	Lists   bool  // the provider finds instances in lists, so the cloud's log has no calls about single instances
	// Begun has the times at which daemons were started. Evidence from before the start
	// of a daemon does not count.
	Begun []time.Time
}

// Member is a Node and its instance.
type Member struct {
	*corev1.Node // as it was registered

	Instance simulator.Instance
	// Rules are the limits that the daemon has from its flags.
	Rules Rules
	// Handled means that the test itself has deleted the Node.
	Handled bool
}

// Rules are the conditions for a deletion.
type Rules struct {
	Absences  int
	AbsentFor time.Duration
	// Terminated means that no more is needed than that the cloud lists the instance as
	// terminated.
	Terminated bool
	Alone      bool // the Node may be deleted without a witness
	// Compared means that other questions about the Node may come at any time, such as
	// those of the comparison of all Nodes with the cloud. They might also come while the
	// Node is being deleted.
	Compared bool
}

// New makes a cloud with instances and their Nodes. At the end of the test it
// checks each deletion.
func New(t *testing.T, b *bed.Bed, size int) *Pool {
	t.Helper()
	wanted := make([]simulator.Instance, size)
	for n := range wanted {
		wanted[n].Zone = "sim-1" + string("abc"[n%3])
	}
	return Of(t, b, wanted...)
}

// Of returns a pool with these instances. Instances without a name get one.
func Of(t *testing.T, b *bed.Bed, wanted ...simulator.Instance) *Pool {
	t.Helper()
	return WithIDs(t, b, nodes.ProviderID, wanted...)
}

// WithIDs returns a pool whose provider has another form of provider IDs.
func WithIDs(t *testing.T, b *bed.Bed, id func(simulator.Instance) string, wanted ...simulator.Instance) *Pool {
	t.Helper()
	p := &Pool{Bed: b, Cloud: b.NewCloud(t)}
	return p.with(t, id, wanted...)
}

// Listing returns a pool whose cloud lists terminated instances for an hour. The daemon
// may delete their Nodes for that reason alone.
func Listing(t *testing.T, b *bed.Bed, size int) *Pool {
	t.Helper()
	p := &Pool{Bed: b, Cloud: b.NewCloud(t, "--terminated-for=1h")}
	return p.with(t, nodes.ProviderID, make([]simulator.Instance, size)...)
}

func (p *Pool) with(t *testing.T, id func(simulator.Instance) string, wanted ...simulator.Instance) *Pool {
	t.Helper()
	b := p.Bed
	p.Label, p.Mark = b.Name("pool"), b.Audit(t).Mark()
	expect.Cleanup(t, func(ctx context.Context) error {
		return b.Admin.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: Label + "=" + p.Label})
	})
	t.Cleanup(func() { p.Judge(t) })
	// The instances are created one after the other, so that their IDs have the
	// order of their names.
	var instances []simulator.Instance
	for n, i := range wanted {
		i.Name = cmp.Or(i.Name, fmt.Sprintf("%s-%03d", p.Label, n))
		instances = append(instances, p.Instance(t, i))
	}
	p.Members = make([]*Member, len(instances))
	together(p.Members, func(n int, _ *Member) {
		node := nodes.NewInitialized(instances[n])
		node.Spec.ProviderID = id(instances[n])
		p.Members[n] = p.create(t, node, instances[n])
	})
	if t.Failed() {
		t.FailNow()
	}
	return p
}

// Instance creates an instance that exists as long as the cloud.
func (p *Pool) Instance(t *testing.T, i simulator.Instance) simulator.Instance {
	t.Helper()
	created, err := p.Cloud.CreateInstance(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// Newcomer adds a member with an ordinary instance and an initialised Node.
func (p *Pool) Newcomer(t *testing.T, base string) *Member {
	t.Helper()
	i := p.Instance(t, simulator.Instance{Name: p.Name(base)})
	return p.Join(t, nodes.NewInitialized(i), i)
}

// Join adds a member with this Node and this instance.
func (p *Pool) Join(t *testing.T, node *corev1.Node, i simulator.Instance) *Member {
	t.Helper()
	m := p.create(t, node, i)
	if m == nil {
		t.FailNow()
	}
	p.Members = append(p.Members, m)
	return m
}

func (p *Pool) create(t *testing.T, node *corev1.Node, i simulator.Instance) *Member {
	t.Helper()
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[Label] = p.Label
	created, err := p.Admin.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Error(err)
		return nil
	}
	return &Member{Node: created, Instance: i, Rules: Rules{Absences: Absences, AbsentFor: AbsentFor}}
}

// together calls the function do for all members, for several of them at a time.
func together(all []*Member, do func(int, *Member)) {
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

// Reports writes the condition Ready with this status and this time of the last
// heartbeat. The status Unknown is the one that the control plane writes for a silent
// kubelet.
func (p *Pool) Reports(t *testing.T, status corev1.ConditionStatus, heartbeat time.Time, members ...*Member) {
	t.Helper()
	reason := map[corev1.ConditionStatus]string{
		corev1.ConditionTrue: "KubeletReady", corev1.ConditionFalse: "KubeletNotReady", corev1.ConditionUnknown: "NodeStatusUnknown",
	}[status]
	at := heartbeat.UTC().Format(time.RFC3339)
	body := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q,"reason":%q,"lastHeartbeatTime":%q,"lastTransitionTime":%q}]}}`,
		status, reason, at, time.Now().UTC().Format(time.RFC3339))
	together(members, func(_ int, m *Member) {
		_, err := p.Admin.CoreV1().Nodes().Patch(t.Context(), m.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
		if err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
}

// Silence writes the condition that kube-controller-manager writes for a silent kubelet.
func (p *Pool) Silence(t *testing.T, members ...*Member) {
	t.Helper()
	p.Reports(t, corev1.ConditionUnknown, time.Now().Add(-40*time.Second), members...)
}

// Wake writes the condition that a kubelet writes when it reports again.
func (p *Pool) Wake(t *testing.T, members ...*Member) {
	t.Helper()
	p.Reports(t, corev1.ConditionTrue, time.Now(), members...)
}

// Terminate terminates instances. Some may be terminated already.
func (p *Pool) Terminate(t *testing.T, members ...*Member) {
	t.Helper()
	together(members, func(_ int, m *Member) {
		if err := p.Cloud.TerminateInstance(t.Context(), m.Instance.ID); err != nil && !simulator.IsNotFound(err) {
			t.Error(err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
}

// ByHand deletes a Node as a person would.
func (p *Pool) ByHand(t *testing.T, m *Member) {
	t.Helper()
	if err := p.Admin.CoreV1().Nodes().Delete(t.Context(), m.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	m.Handled = true
}

// Runs starts a daemon for the pool.
func (p *Pool) Runs(t *testing.T, s daemon.Setup) *daemon.Daemon {
	t.Helper()
	if s.Cloud == "" {
		s.Cloud = p.Cloud.URL
	}
	p.Begun = append(p.Begun, time.Now())
	return p.Daemon(t, s)
}
