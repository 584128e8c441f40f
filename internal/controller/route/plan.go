package route

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// Keys returns the one key of the table.
func (*Controller) Keys() []string { return []string{tableKey} }

// Shadow calls the function look when a pass is due, and makes no passes. Follow must
// be called first, and Run must not be called.
func (c *Controller) Shadow(ctx context.Context, look loop.Reconcile) error {
	c.passes.Add(tableKey)
	return c.passes.RunAs(ctx, look)
}

// Plan returns the steps that the controller would take for each route, and for the
// condition of each Node. Plan writes nothing, but it remembers when each route became
// stray.
func (c *Controller) Plan(ctx context.Context, _ string) ([]step.Step, error) {
	o, p, err := c.decide(ctx, time.Time{}, (*memory).foreseen)
	if err != nil {
		return nil, err
	}
	return p.steps(o), nil
}

// steps returns the part of the plan that a dry run shows.
func (p plan) steps(o observed) []step.Step {
	var all []step.Step
	if f := o.memory.listingFailure; o.memory.listingFails() {
		all = append(all, step.Step{Object: "routes", Effect: step.Wait, Do: string(listRoutes), Reason: f.kind, Why: f.text, After: p.after})
	}
	changes := map[identity]bool{}
	for _, j := range p.jobs {
		for _, r := range j.remove {
			changes[r.route.identity] = true
			s := r.route.step(step.Delete, "remove", r.why)
			s.Calls = []string{"DeleteRoute"}
			all = append(all, s)
		}
		if j.create != nil {
			all = append(all, j.create.step(j.cidr))
		}
	}
	for _, h := range p.held {
		changes[h.route.identity] = true
		s := h.route.step(step.Wait, "hold", h.why+"; "+h.until)
		s.After = p.after
		all = append(all, s)
	}
	for _, r := range o.memory.listing.routes {
		if !changes[r.identity] {
			all = append(all, r.step(step.None, "nothing", "it stays"))
		}
	}
	if s, is := o.outside(); is {
		all = append(all, s)
	}
	return append(all, p.onNodes()...)
}

// outside returns a step about routes that lead to Nodes of this daemon and are not
// inside --cluster-cidr. These routes stay. Until the next Node joins, only this step
// shows that the flag is probably wrong.
func (o *observed) outside() (step.Step, bool) {
	if o.limits.CreateOutside {
		return step.Step{}, false
	}
	nodes := map[string]*corev1.Node{}
	for _, n := range o.nodes {
		if !o.disowns(n) {
			nodes[n.Name] = n
		}
	}
	var found []route
	for _, r := range o.memory.listing.routes {
		if n := nodes[r.target]; n != nil && r.cidr.IsValid() && !o.isInside(r.cidr) && claims(n, r.cidr) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return step.Step{}, false
	}
	return step.Step{
		Object: "routes", Effect: step.Wait, Do: "nothing", Reason: reasonRejected.Name,
		Why: fmt.Sprintf("Routes of Nodes are not inside --cluster-cidr (%d, among them %s to %s). They stay, but a Node that joins with such a CIDR gets no route. Correct --cluster-cidr.",
			len(found), found[0].destination, found[0].target),
	}, true
}

// step returns a step for the creation of a route. The step includes the condition
// that the Node gets once the route exists.
func (c creation) step(cidr netip.Prefix) step.Step {
	s := step.Step{Object: "route/" + cidr.String(), Effect: step.Create, Do: "create to " + c.node.Name, Why: c.why, Calls: []string{"CreateRoute"}}
	shown := nodefact.Condition(c.node, corev1.NodeNetworkUnavailable)
	if cause := routeCreated(); mustWrite(corev1.ConditionFalse, cause, shown) {
		s.Writes = []string{step.Condition(corev1.NodeNetworkUnavailable, corev1.ConditionFalse, cause.Reason) + " on node/" + c.node.Name}
	}
	return s
}

// onNodes returns one step for each Node that gets an event or a new condition.
func (p plan) onNodes() []step.Step {
	byName, order := map[string]*step.Step{}, []string{}
	of := func(name string) *step.Step {
		if byName[name] == nil {
			byName[name] = &step.Step{Object: "node/" + name, Effect: step.Update, Do: "show"}
			order = append(order, name)
		}
		return byName[name]
	}
	for _, patch := range p.patches {
		s, c := of(patch.node.Name), patch.condition
		if patch.foreign {
			e := foreign(*c, "")
			s.Reason, s.Why, s.Writes = e.Reason, e.Message, append(s.Writes, "event "+e.Type+" "+e.Reason)
			continue
		}
		s.Reason, s.Why = c.Reason, c.Message
		s.Writes = append(s.Writes, step.Condition(c.Type, c.Status, c.Reason))
	}
	for _, e := range p.events {
		s := of(e.node.Name)
		s.Reason, s.Why = e.event.Reason, e.event.Message
		s.Writes = append(s.Writes, "event "+e.event.Type+" "+e.event.Reason)
	}
	var all []step.Step
	for _, name := range order {
		all = append(all, *byName[name])
	}
	return all
}

// step returns a step about a listed route.
func (r route) step(effect step.Effect, do, why string) step.Step {
	return step.Step{Object: "route/" + r.destination, Effect: effect, Do: do + " to " + r.target, Why: why}
}
