package simulated

import (
	"context"
	"fmt"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// routeCalls changes single routes. Each change is one call, unless the configuration
// lets concurrent callers share calls.
type routeCalls struct {
	change func(context.Context, simulator.RouteChange) (simulator.Route, error)
}

func newRouteCalls(c *Cloud, with config) routeCalls {
	if !with.BatchRoutes {
		return routeCalls{change: c.changeRoute}
	}
	changes := &batcher[simulator.RouteChange, simulator.Route]{call: c.changeRoutes, most: min(with.page(), simulator.MaxRouteChanges)}
	return routeCalls{change: changes.ask}
}

// changeRoute makes one change. Deleting a route that does not exist is a
// success.
func (c *Cloud) changeRoute(ctx context.Context, wanted simulator.RouteChange) (simulator.Route, error) {
	return ask(ctx, c, func(ctx context.Context, client *simulator.Client) (simulator.Route, error) {
		if wanted.Create != nil {
			return client.CreateRoute(ctx, *wanted.Create)
		}
		return simulator.Route{}, unlessGone(client.DeleteRoute(ctx, wanted.Delete))
	})
}

// changeRoutes makes several changes in one call, each as changeRoute does.
func (c *Cloud) changeRoutes(ctx context.Context, wanted []simulator.RouteChange) ([]answer[simulator.Route], error) {
	outcomes, err := ask(ctx, c, func(ctx context.Context, client *simulator.Client) ([]simulator.RouteOutcome, error) {
		return client.ChangeRoutes(ctx, wanted)
	})
	if err != nil {
		return nil, fmt.Errorf("%d changes of routes: %w", len(wanted), err)
	}
	answers := make([]answer[simulator.Route], len(wanted))
	for n, o := range outcomes {
		if wanted[n].Create == nil {
			o.Err = unlessGone(o.Err)
		}
		answers[n] = answer[simulator.Route]{o.Route, o.Err}
	}
	return answers, nil
}

// unlessGone returns the error of a deletion, or nil if the error says that the
// route does not exist.
func unlessGone(err error) error {
	if simulator.IsNotFound(err) {
		return nil
	}
	return err
}
