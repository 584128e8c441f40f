// Package service gives Services of type LoadBalancer their load balancers, and keeps
// these load balancers in line with Services and Nodes.
//
// One Service is one key. A pass observes (observe.go) and decides on the next action
// (decide.go and rules_*.go, which are pure functions). It applies the action
// (apply.go), and decides again. It ends when
// nothing is left to do, or when the Service has to wait. No key has two workers at a
// time, so calls about one Service never overlap. Each call gets the newest set of
// Nodes (promise S3).
//
// After a crash between any two actions, the next pass repairs what the crash left. The
// finalizer is written before the first call to the cloud, and removed after the last
// call. So the next process finds everything that was left in the cloud (promise S2).
// The next process does not know which shape and which Nodes the provider got last. So
// it makes one call for each Service, and records no event if nothing has changed.
//
// DESIGN.md has the states of a Service. The rules are in:
//
//   - rules_ours.go: which Services are served, and the report on a Service that the
//     finalizer of another class holds up
//   - rules_shape.go: the fields from which a load balancer is built
//   - rules_provide.go, rules_cleanup.go: the order of actions
//   - rules_backends.go: which Nodes are behind load balancers, and
//     how long a changed Node waits for other Nodes
//   - rules_subset.go: which of these Nodes are behind one load balancer
//   - rules_outcome.go: the memory and the events after a call
//   - rules_wait.go: the time at which a failed call is made again, the limit of calls for
//     edits, and updates of the backends meanwhile
//   - rules_conditions.go: the conditions of a Service, and the pause between two
//     changes of them
//   - rules_wake.go: the changes after which a pass is due
//
// Every message is in events.go.
package service
