package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// grace is the grace period of kube-controller-manager for a silent kubelet. markedWithin
// is the longest time until kube-controller-manager sets Ready=Unknown for this kubelet.
const (
	grace        = 20 * time.Second
	markedWithin = grace + time.Minute
)

// Real kubelets are killed, and the real kube-controller-manager marks their Nodes.
// While the cloud answers 404 for everything, no Node is deleted, whether one
// kubelet is silent or all are. Nodes of terminated instances are deleted. Nodes of
// stopped instances are tainted.
func TestKubelets(t *testing.T) {
	const nodes = 5
	b := onOwn(t, "--node-monitor-grace-period="+grace.String())
	var wanted []simulator.Instance
	for range nodes {
		wanted = append(wanted, simulator.Instance{Name: b.Name("real")})
	}
	instances := b.Boot(t, wanted...)
	p := adopted(t, b)
	p.Runs(t, daemon.Setup{Cloud: b.Cloud.URL, Flags: nodepool.Quickly("--node-deletion-over-budget-after=10s")})
	for _, i := range instances {
		adopt(t, p, i)
	}
	t.Run("NotFoundForEverything", func(t *testing.T) { testCalledAbsent(t, p) })
	t.Run("Terminated", func(t *testing.T) {
		gone := p.Members[1]
		p.Terminate(t, gone)
		p.AwaitGone(t, markedWithin+nodepool.GoneWithin, gone) // The Node may be deleted just after it has been marked.
	})
	t.Run("Stopped", func(t *testing.T) {
		m := p.Members[2]
		if err := p.Cloud.StopInstance(t.Context(), m.Instance.ID); err != nil {
			t.Fatal(err)
		}
		awaitReady(t, p, corev1.ConditionUnknown, m)
		p.AwaitNode(t, m.Name, expect.Soon, shutdown)
		describe(t, p.Bed, "stopped", m.Name)
		if err := p.Cloud.StartInstance(t.Context(), m.Instance.ID); err != nil {
			t.Fatal(err)
		}
		p.AwaitNode(t, m.Name, expect.Soon, notShutdown)
		awaitReady(t, p, corev1.ConditionTrue, m)
	})
	p.Stay(t, p.Members[2:]...)
}

// adopted returns an empty pool for Nodes that kubelets have registered.
func adopted(t *testing.T, b *bed.Bed) *nodepool.Pool {
	t.Helper()
	p := &nodepool.Pool{Bed: b, Label: b.Name("adopted"), Cloud: b.Cloud, Mark: b.Audit(t).Mark()}
	t.Cleanup(func() { p.Judge(t) })
	return p
}

// adopt waits until the Node of an instance is ready, and makes it a member.
func adopt(t *testing.T, p *nodepool.Pool, i simulator.Instance) {
	t.Helper()
	p.AwaitNode(t, i.Name, 2*time.Minute, nodes.As(i, nodes.AddressesOf(i)...))
	p.Patch(t, i.Name, `{"metadata":{"labels":{"`+nodepool.Label+`":"`+p.Label+`"}}}`)
	m := &nodepool.Member{Node: p.Node(t, i.Name), Instance: i, Rules: nodepool.Rules{Absences: nodepool.Absences, AbsentFor: nodepool.AbsentFor}}
	awaitReady(t, p, corev1.ConditionTrue, m)
	p.Members = append(p.Members, m)
}

// awaitReady waits for the Ready condition.
func awaitReady(t *testing.T, p *nodepool.Pool, status corev1.ConditionStatus, members ...*nodepool.Member) {
	t.Helper()
	for _, m := range members {
		p.AwaitNode(t, m.Name, markedWithin, func(node *corev1.Node) error {
			for _, c := range node.Status.Conditions {
				if c.Type == corev1.NodeReady {
					return expect.Equal("Ready", status, c.Status)
				}
			}
			return errors.New("no condition Ready")
		})
	}
}

// testCalledAbsent: while the cloud answers 404 for everything, first one kubelet is
// silent, then all are. Then the cloud works again, and the kubelets come back.
func testCalledAbsent(t *testing.T, p *nodepool.Pool) {
	p.Cloud.Fail(t, simulator.Fault{Name: "wrong", Kind: simulator.FaultNotFound})
	one := p.Members[:1]
	kubelets(t, p, one, "stop", "--kill")
	awaitReady(t, p, corev1.ConditionUnknown, one...)
	p.AwaitHeld(t, one, "CloudContradictsKubelet", "NoWitness")
	p.AwaitShown(t, one, corev1.ConditionTrue, "CloudContradictsKubelet", "NoWitness")
	describe(t, p.Bed, "404 for everything, one kubelet of five is silent", one[0].Name)

	kubelets(t, p, p.Members[1:], "stop", "--kill")
	awaitReady(t, p, corev1.ConditionUnknown, p.Members...)
	p.AwaitHeld(t, p.Members[1:], "NoWitness", "TooManyAbsent")
	p.AwaitAsked(t, 2*nodepool.Absences, p.Members...)
	describe(t, p.Bed, "404 for everything, all kubelets are silent", one[0].Name)
	p.Stay(t, p.Members...)

	p.Cloud.Heal(t)
	p.AwaitTold(t, time.Minute, p.Members, "Normal NodeDeletionCanceled")
	kubelets(t, p, p.Members, "start")
	awaitReady(t, p, corev1.ConditionTrue, p.Members...)
	p.AwaitShown(t, one, corev1.ConditionFalse)
	p.Stay(t, p.Members...)
}

// kubelets stops or starts the kubelets of the members. In the cloud, the instances
// keep running.
func kubelets(t *testing.T, p *nodepool.Pool, members []*nodepool.Member, command ...string) {
	t.Helper()
	for _, m := range members {
		if _, err := p.Command(t.Context(), append(command, "kubelet-"+m.Name)...); err != nil {
			t.Fatal(fmt.Errorf("kubelet of %s: %w", m.Name, err))
		}
	}
}
