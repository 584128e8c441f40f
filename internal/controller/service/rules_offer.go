package service

// offerBackends turns the wait for the next Ensure into an update, if a load
// balancer works and has another set of nodes than the newest one: whatever is
// wrong with the Service, its backends must not stay behind (promise S3). The
// failure is shown first, because an update may have to wait for other Services.
//
// A set is offered once. If that fails, it is offered again after Ensure has
// failed once more, so an offer needs no delay of its own.
func offerBackends(o observed, p plan) plan {
	m := o.memory
	switch {
	case p.do != wait, !isProvided(o), m.backends == o.backends, m.offered == o.backends:
		return p
	case p.writes.patches(), len(p.writes.events) > 0:
		p.after, p.awaited = yieldDelay, false
		return p
	default:
		return plan{do: update, why: "the set of nodes has changed while the load balancer cannot be ensured", service: o.service, memory: m}
	}
}

// isProvided reports whether the Service has a load balancer from an earlier
// call of this process or of another one.
func isProvided(o observed) bool {
	return !o.memory.elsewhere && (o.memory.status != nil || len(o.service.Status.LoadBalancer.Ingress) > 0)
}
