package scenario

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/cluster"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// noYouth makes Fairlead treat the new Nodes of a benchmark like older Nodes. By default,
// Fairlead protects new Nodes for longer.
const noYouth = "--node-deletion-young-age=0s"

// lies has the scenarios in which the cloud answers wrongly while all instances
// run. The Nodes with silent kubelets represent healthy machines that cannot
// report.
var lies = []Scenario{
	lie("lies-404-few", "404 to every call", 10, contender.Simulated, simulator.FaultNotFound),
	lie("lies-404-all", "404 to every call", 100, contender.Simulated, simulator.FaultNotFound),
	lie("lies-empty-list", "an empty list", 100, contender.Listing, simulator.FaultEmptyList),
	lie("lies-half-list", "a list that lacks half of the instances", 100, contender.Listing, simulator.FaultTruncatedList),
	lie("lies-half-list-few", "a list that lacks half of the instances", 10, contender.Listing, simulator.FaultTruncatedList),
}

// lie returns a scenario in which the cloud answers wrongly about all Nodes. The
// argument silent is the percentage of silent kubelets.
func lie(name, answer string, silent int, p contender.Provider, kind simulator.FaultKind) Scenario {
	return Scenario{
		Name: name,
		What: func(s Settings) string {
			return fmt.Sprintf("The cloud answers with %s for %v, while %d of %d kubelets are silent. All instances run.",
				answer, s.LieFor, s.percent(silent), s.Nodes)
		},
		Provider: p,
		Size:     atMost(500),
		Flags:    ownFlags(noYouth),
		run: func(ctx context.Context, t *trial) error {
			return t.believe(ctx, simulator.Fault{Name: "lie", Kind: kind}, t.percent(silent))
		},
	}
}

// believe runs a scenario in which the cloud answers wrongly. It counts the Nodes that
// are deleted although their instances run.
func (t *trial) believe(ctx context.Context, lie simulator.Fault, silent int) error {
	instances, err := t.fleet(ctx, cluster.Initialized)
	if err != nil {
		return err
	}
	if err := t.lead(ctx, t.even()); err != nil {
		return err
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	if err := t.cloud.SetFault(ctx, lie); err != nil {
		return err
	}
	victims := spread(instances, silent)
	if err := t.silence(ctx, victims); err != nil {
		return err
	}
	t.progress("the cloud lies, %d kubelets are silent", silent)
	// Once all silent Nodes are deleted, nothing more can happen.
	err = t.nodes.Await(ctx, t.LieFor-t.clock.Since(t.began.at), gone(victims))
	if err != nil && !errors.Is(err, cluster.ErrLate) {
		return err
	}
	n, lasted := left(t, victims), t.clock.Since(t.began.at).Seconds()
	t.note(report.Number(fmt.Sprintf("silent Nodes deleted in %.0f s", lasted), silent-n, silent))
	if n == 0 {
		if err := t.calm(ctx); err != nil {
			return err
		}
	}
	return t.end(ctx)
}
