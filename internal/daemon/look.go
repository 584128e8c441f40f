package daemon

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/daemon/election"
)

// Looker is one of Fairlead's controllers in a process that only reads. It says what it
// would do, and does not run.
type Looker struct {
	Name string
	Kind string // of its objects, such as "node"
	Worker
}

// Open initialises the provider, and opens the gateway to the cloud. It is for a
// process that only reads, and that takes no lease. The caller must call Drop.
func (p *Process) Open(ctx context.Context) error {
	p.provider = p.current.Take()
	stop, err := p.initialize(ctx)
	context.AfterFunc(ctx, stop)
	return err
}

// Drop ends the provider's goroutines.
func (p *Process) Drop() { p.current.Drop() }

// Lookers makes the enabled controllers, for which informers are requested but not
// started. It calls idle for each controller that would not run here, or that cannot
// say what it would do.
func (p *Process) Lookers(ctx context.Context, idle func(controller, why string)) ([]Looker, error) {
	var all []Looker
	for _, r := range p.enabled() {
		if p.place(r.Name) == election.Elsewhere {
			idle(r.Name, "leader migration gives it to another manager")
			continue
		}
		if !r.ours {
			idle(r.Name, "the program has added it, and it cannot say what it would do")
			continue
		}
		made, err := p.startController(ctx, ctx, r)
		var why skip
		var missing notOffered
		var broken misconfigured
		switch {
		case errors.As(err, &missing), errors.As(err, &why), errors.As(err, &broken) && !p.Settings.Controllers.Names(r.Name):
			idle(r.Name, err.Error())
		case err != nil:
			return nil, fmt.Errorf("starting %q: %w", r.Name, err)
		default:
			all = append(all, Looker{Name: r.Name, Kind: r.kind, Worker: made.(Worker)})
		}
	}
	return all, nil
}

// AwaitAPIServer returns an error if the API server does not answer.
func (p *Process) AwaitAPIServer() error {
	client, err := p.clients.informers()
	if err != nil {
		return err
	}
	if _, err := client.Discovery().ServerVersion(); err != nil {
		return fmt.Errorf("the API server does not answer: %w", err)
	}
	return nil
}

// Node returns the Node as our informers know it.
func (p *Process) Node(name string) (*corev1.Node, bool) {
	node, err := p.informers.Core().V1().Nodes().Lister().Get(name)
	return node, err == nil
}

// ShowLive makes /livez depend on the looker.
func (p *Process) ShowLive(l Looker) { p.health.Add(l.Name, live(l.Worker)) }

// Fail ends the process in the same steps as a planned stop.
func (p *Process) Fail(err error) { p.fail(err) }

// CloudCalls returns the number of calls that were made to the cloud.
func (p *Process) CloudCalls() int {
	families, err := p.Registry.Gather()
	if err != nil {
		return 0 // Nothing depends on the number, which is only shown.
	}
	calls := 0.0
	for _, family := range families {
		if family.GetName() == "fairlead_cloud_calls_total" {
			for _, m := range family.GetMetric() {
				calls += m.GetCounter().GetValue()
			}
		}
	}
	return int(calls)
}
