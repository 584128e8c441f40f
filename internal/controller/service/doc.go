// Package service gives Services of type LoadBalancer their load balancers and
// keeps those in line with Services and Nodes.
//
// One Service is one key. A pass observes (observe.go), decides the next action
// and why (decide.go and the rules_*.go beside it, pure functions), applies it
// (apply.go, and call.go for calls to the provider), and decides again, until
// nothing is left to do or something has to be waited for. A key has one worker,
// so calls about one Service never overlap, and each gets the newest set of Nodes
// (promise S3).
//
// A crash between any two actions heals on the next pass. The finalizer is
// written before the cloud is first called and removed after the last call, so
// the next process finds everything that was left in the cloud (promise S2). After
// a crash it is not known which shape and which Nodes the provider got last. So the
// next process calls once for each Service, and records no event if nothing has
// changed.
//
// DESIGN.md has the states of a Service. The rules are in:
//
//   - rules_ours.go: which Services are served
//   - rules_unserved.go: what a Service of another class shows if the finalizer keeps it in deletion
//   - rules_shape.go: the fields from which a load balancer is built
//   - rules_provide.go, rules_cleanup.go: the order of actions
//   - rules_offer.go: how backends follow the Nodes while the load balancer cannot be ensured
//   - rules_backends.go, rules_membership.go: which Nodes are behind load balancers
//   - rules_pause.go: how long a changed Node waits for others
//   - rules_outcome.go: what follows from the result of a call
//   - rules_wait.go: when a call is made again
//   - rules_conditions.go: what a Service shows, and how often that changes
//   - rules_wake.go: which changes ask for a pass
//
// Every message is in events.go.
package service
