package service

// offerBackends replaces a wait for the next Ensure by an update, if a working load
// balancer does not have the newest set of nodes. So its backends follow the Nodes
// although Ensure fails (promise S3). The failure is shown first, because an update
// may have to wait for other Services. If it cannot be shown, the update does not
// wait for that: the cloud does not depend on a webhook.
//
// The update also comes before the next Ensure that is due. If calls take longer
// than the delays, there is always one that is due.
//
// A set is offered once. If that fails, it is offered again after Ensure has
// failed once more, so an offer needs no delay of its own.
func offerBackends(o observed, p plan) plan {
	m := o.memory
	switch {
	case p.do != wait && !isRepeated(o), !isProvided(o), m.backends == o.backends && !m.backendsUncertain, m.offered == o.backends:
		return p
	case p.do == wait && (p.writes.patches() && !m.unwritten || len(p.writes.events) > 0):
		p.after, p.awaited = yieldDelay, false
		return p
	default:
		return plan{do: update, why: "the set of nodes has changed while the load balancer cannot be ensured", service: o.service, memory: m}
	}
}

// isRepeated reports whether the next Ensure repeats one that has failed.
func isRepeated(o observed) bool {
	f := o.memory.failure
	return f.during == ensure && f.shape == shapeFor(o.service)
}

// isProvided reports whether the Service has a load balancer from an earlier
// call of this process or of another one.
func isProvided(o observed) bool {
	return !o.memory.elsewhere && (o.memory.status != nil || len(o.service.Status.LoadBalancer.Ingress) > 0)
}
