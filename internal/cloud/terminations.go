package cloud

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
)

// terminationTimeout bounds the time for which a caller waits. It has the more important
// answer already, "absent". The next caller gets a late answer.
const terminationTimeout = 10 * time.Second

// Termination is what the cloud says about the end of a machine. The zero value means
// that nothing is known.
type Termination struct {
	// ProviderID names the machine.
	ProviderID string
	At         time.Time
	// By is one of the words of provider.Terminator, or empty.
	By string
}

var errNoTerminations = errors.New("the provider does not know which machines were terminated")

// Termination asks whether the cloud lists the machine of a node as terminated. As with
// Existence, each answer comes from a call about this node alone, and only one caller gets
// the answer. The kind of the error is NotImplemented if the provider cannot tell; no
// call is made if it does not offer the interface.
func (i *Instances) Termination(ctx context.Context, node *corev1.Node) (Termination, error) {
	c := call{method: "InstanceTermination", priority: updatePriority, names: namesOfNode(node), region: regionOf(node)}
	if i.terminations == nil {
		return Termination{}, c.failed(NotImplemented, errNoTerminations)
	}
	return i.ended.ask(ctx, c, identity(node), func(ctx context.Context, c call) (Termination, error) {
		return read(ctx, i.gateway, c, func(ctx context.Context) (Termination, error) {
			theirs, err := i.terminations.InstanceTermination(ctx, node.DeepCopy())
			if err == nil {
				err = ctx.Err() // After the deadline, the provider might have given up and dropped the error.
			}
			if err != nil {
				return Termination{}, err
			}
			t := Termination{ProviderID: theirs.ProviderID, At: theirs.At}
			switch theirs.By {
			case provider.TerminatedBySpot, provider.TerminatedByHealth, provider.TerminatedByUser:
				t.By = string(theirs.By)
			}
			return t, nil
		})
	})
}
