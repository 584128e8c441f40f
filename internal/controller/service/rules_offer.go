package service

// offerBackends makes the backends follow the Nodes while Ensure fails, or has to wait
// because the finalizer is missing (promise S3). If
// the load balancer works but does not have the newest set of nodes, offerBackends
// replaces the wait for the next Ensure by an update. The failure is shown first,
// because an update may have to wait for other Services. The update is made even if the
// failure cannot be shown, for example because a webhook refuses the condition.
//
// The update is made even if the next Ensure is already due. Otherwise the update might
// never be made, because an Ensure is always due if calls take longer than the delays.
//
// If the update with a set fails, the same set is tried again only after the next
// failure of Ensure. So the update needs no delay of its own.
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

// isRepeated reports whether the next Ensure repeats an Ensure that has failed.
func isRepeated(o observed) bool {
	f := o.memory.failure
	return f.during == ensure && f.shape == shapeFor(o.service)
}

// isProvided reports whether the Service has a load balancer from an earlier call of
// this process or of an earlier process.
func isProvided(o observed) bool {
	return !o.memory.elsewhere && (o.memory.status != nil || len(o.service.Status.LoadBalancer.Ingress) > 0)
}
