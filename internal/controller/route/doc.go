// Package route gives the pod CIDRs of every Node a route in the cloud, and
// removes routes that lead nowhere.
//
// The table is planned as a whole. A pass observes (observe.go) the Nodes, the
// newest listing of the cloud's routes, and what this process has changed since.
// It decides (decide.go and the rules_*.go beside it, pure functions) what to
// remove and what to create, and why. It applies the plan (apply.go) as jobs, one
// for each CIDR. A job removes before it creates, fails and is retried alone, and
// wakes the table when it ends. The same pass decides which condition each Node
// shows.
//
// To create a route that no other Node has, a pass needs no new listing. To remove
// one it does: nothing is removed on a listing that is older than the last change
// of the Nodes.
//
// DESIGN.md has the states of a CIDR, what may never happen, and where a crash may
// fall.
package route
