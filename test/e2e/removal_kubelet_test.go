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
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// markedWithin is how long it takes until kube-controller-manager says of a
// silent kubelet that nobody knows.
const (
	grace        = 20 * time.Second
	markedWithin = grace + time.Minute
)

// Real kubelets are killed, and the real kube-controller-manager marks their
// Nodes. A cloud that answers 404 for everything costs no Node, whether one
// kubelet is silent or all are. Nodes of terminated instances are deleted.
// Nodes of stopped instances are tainted.
func TestKubelets(t *testing.T) {
	const nodes = 5
	b := onOwn(t, "--node-monitor-grace-period="+grace.String())
	var wanted []simulator.Instance
	for range nodes {
		wanted = append(wanted, simulator.Instance{Name: b.Name("real")})
	}
	instances := b.Boot(t, wanted...)
	p := adopted(t, b)
	p.runs(t, daemon.Setup{Cloud: b.Cloud.URL, Flags: quickly("--node-deletion-over-budget-after=10s")})
	for _, i := range instances {
		p.adopt(t, i)
	}
	t.Run("NotFoundForEverything", p.testCalledAbsent)
	t.Run("Terminated", func(t *testing.T) {
		gone := p.members[1]
		p.terminate(t, gone)
		p.awaitReady(t, corev1.ConditionUnknown, gone)
		p.awaitGone(t, goneWithin, gone)
	})
	t.Run("Stopped", func(t *testing.T) {
		m := p.members[2]
		if err := p.cloud.StopInstance(t.Context(), m.instance.ID); err != nil {
			t.Fatal(err)
		}
		p.awaitReady(t, corev1.ConditionUnknown, m)
		p.AwaitNode(t, m.Name, expect.Soon, shutdown)
		describe(t, p.Bed, "stopped", m.Name)
		if err := p.cloud.StartInstance(t.Context(), m.instance.ID); err != nil {
			t.Fatal(err)
		}
		p.AwaitNode(t, m.Name, expect.Soon, notShutdown)
		p.awaitReady(t, corev1.ConditionTrue, m)
	})
	p.stay(t, p.members[2:]...)
}

// adopted is a pool of Nodes that kubelets have registered.
func adopted(t *testing.T, b *bed.Bed) *pool {
	t.Helper()
	p := &pool{Bed: b, label: b.Name("adopted"), cloud: b.Cloud, mark: b.Audit(t).Mark()}
	t.Cleanup(func() { p.judge(t) })
	return p
}

// adopt waits until the Node of an instance is ready, and makes it a member.
func (p *pool) adopt(t *testing.T, i simulator.Instance) {
	t.Helper()
	p.AwaitNode(t, i.Name, 2*time.Minute, nodes.As(i, nodes.AddressesOf(i)...))
	p.Patch(t, i.Name, `{"metadata":{"labels":{"`+labelFleet+`":"`+p.label+`"}}}`)
	m := &member{Node: p.Node(t, i.Name), instance: i, rules: rules{absences: absences, absentFor: absentFor}}
	p.awaitReady(t, corev1.ConditionTrue, m)
	p.members = append(p.members, m)
}

// awaitReady waits for the Ready condition.
func (p *pool) awaitReady(t *testing.T, status corev1.ConditionStatus, members ...*member) {
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

// testCalledAbsent: first one kubelet is silent, then all are. Then they come
// back.
func (p *pool) testCalledAbsent(t *testing.T) {
	p.cloud.Fail(t, simulator.Fault{Name: "wrong", Kind: simulator.FaultNotFound})
	one := p.members[:1]
	p.kubelets(t, one, "stop", "--kill")
	p.awaitReady(t, corev1.ConditionUnknown, one...)
	p.awaitHeld(t, one, "CloudContradictsKubelet", "NoWitness")
	p.awaitShown(t, one, corev1.ConditionTrue, "CloudContradictsKubelet", "NoWitness")
	describe(t, p.Bed, "404 for everything, one kubelet of five is silent", one[0].Name)

	p.kubelets(t, p.members[1:], "stop", "--kill")
	p.awaitReady(t, corev1.ConditionUnknown, p.members...)
	p.awaitHeld(t, p.members[1:], "NoWitness", "TooManyAbsent")
	p.awaitAsked(t, 2*absences, p.members...)
	describe(t, p.Bed, "404 for everything, all kubelets are silent", one[0].Name)
	p.stay(t, p.members...)

	p.cloud.Heal(t)
	p.awaitTold(t, time.Minute, p.members, "Normal NodeDeletionCanceled")
	p.kubelets(t, p.members, "start")
	p.awaitReady(t, corev1.ConditionTrue, p.members...)
	p.awaitShown(t, one, corev1.ConditionFalse)
	p.stay(t, p.members...)
}

// kubelets stops or starts them, without a word to the cloud.
func (p *pool) kubelets(t *testing.T, members []*member, command ...string) {
	t.Helper()
	for _, m := range members {
		if _, err := p.Command(t.Context(), append(command, "kubelet-"+m.Name)...); err != nil {
			t.Fatal(fmt.Errorf("kubelet of %s: %w", m.Name, err))
		}
	}
}
