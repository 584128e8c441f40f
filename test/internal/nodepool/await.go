package nodepool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

// left returns the UIDs of the pool's Nodes that still exist.
func (p *Pool) left(ctx context.Context) (map[types.UID]bool, error) {
	list, err := p.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: Label + "=" + p.Label})
	if err != nil {
		return nil, err
	}
	there := map[types.UID]bool{}
	for _, node := range list.Items {
		there[node.UID] = true
	}
	return there, nil
}

// AwaitGone waits until these Nodes are deleted.
func (p *Pool) AwaitGone(t *testing.T, within time.Duration, members ...*Member) {
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
		told, err := p.EventsOf(ctx, Source, names[0])
		return errors.Join(fmt.Errorf("%d of %d Nodes are still there: %s; events of the first: %q",
			len(names), len(members), strings.Join(names, ", "), told), err)
	})
}

// Stay fails the test if one of these Nodes has been deleted.
func (p *Pool) Stay(t *testing.T, members ...*Member) {
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

// AwaitTold waits until each Node has an event of the daemon that begins with one of
// these texts.
func (p *Pool) AwaitTold(t *testing.T, within time.Duration, members []*Member, starts ...string) {
	t.Helper()
	for _, m := range members {
		expect.Within(t, within, func(ctx context.Context) error {
			all, err := p.EventsOf(ctx, Source, m.Name)
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

// AwaitHeld waits until each of these Nodes has an event that says that its
// deletion is held for one of the reasons.
func (p *Pool) AwaitHeld(t *testing.T, members []*Member, reasons ...string) {
	t.Helper()
	var starts []string
	for _, reason := range reasons {
		starts = append(starts, "Warning NodeDeletionHeld: "+reason+": ", "Normal NodeDeletionHeld: "+reason+": ")
	}
	p.AwaitTold(t, time.Minute, members, starts...)
}

// AwaitShown waits until the condition ConditionMissing of each of these Nodes has
// the status and, if reasons are given, one of the reasons.
func (p *Pool) AwaitShown(t *testing.T, members []*Member, status corev1.ConditionStatus, reasons ...string) {
	t.Helper()
	for _, m := range members {
		p.AwaitNode(t, m.Name, ShownWithin, func(node *corev1.Node) error {
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
	n := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == ConditionMissing })
	if n < 0 {
		return nil
	}
	return &node.Status.Conditions[n]
}

// Deletions returns the daemons' requests to delete Nodes of the pool, in order.
func (p *Pool) Deletions(t *testing.T) audit.Requests {
	t.Helper()
	return p.Audit(t).Since(p.Mark).OfDaemons().Where(func(r audit.Request) bool {
		return r.Verb == "delete" && r.Resource() == "nodes" && slices.ContainsFunc(p.Members, func(m *Member) bool { return m.Name == r.Object.Name })
	})
}

// Label is the key of a label that all Nodes of a pool have. The value names the pool, so
// that the Nodes of a pool can be deleted together.
const Label = "e2e/fleet"
