package scenario

import (
	"context"
	"fmt"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/cluster"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
	"github.com/fairlead-k8s/fairlead/test/scale/listing"
)

// listCachePage is the number of instances on a page in the scenario listCache.
const listCachePage = 50

// listCache has a provider that answers all questions of a few seconds from one list. So
// it matters more when a daemon asks than how often.
var listCache = Scenario{
	Name: "list-cache",
	What: func(s Settings) string {
		return fmt.Sprintf("%d initialised Nodes are there when the daemon starts, and nothing happens for %v. "+
			"The provider answers from a list of all instances that it keeps for %v. A list has %d instances on a page.",
			s.Nodes, s.IdleFor, listing.Kept, listCachePage)
	},
	Provider: contender.ListingCached,
	Flags:    noFlags,
	Size: func(s Settings) Settings {
		s.Nodes = min(2*s.Nodes, 1000)
		s.IdleFor *= 2 // Two periods in which each Node is refreshed.
		return s
	},
	run: func(ctx context.Context, t *trial) error {
		if _, err := t.fleet(ctx, cluster.Initialized); err != nil {
			return err
		}
		if err := t.begin(ctx); err != nil {
			return err
		}
		if _, err := t.replica(); err != nil {
			return err
		}
		if err := t.wait(ctx, t.IdleFor); err != nil {
			return err
		}
		if err := t.end(ctx); err != nil {
			return err
		}
		t.note(report.Number(report.CallsInAll, t.row.Calls(), 0))
		pages := (t.Nodes + listCachePage - 1) / listCachePage
		t.note(report.Quantity(report.ListsInAll, float64(t.row.Calls())/float64(pages), "lists"))
		return nil
	},
}
