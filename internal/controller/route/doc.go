// Package route gives the pod CIDRs of every Node a route in the cloud, and removes
// routes that no Node needs.
//
// The table is planned as a whole after each listing. Later passes plan what has
// changed since, with the same rules and the same result (rules_table.go). A pass
// observes (observe.go) the Nodes, the newest listing of the cloud's routes, and
// what this process has changed since. It decides (decide.go and the rules_*.go
// beside it, pure functions) what to remove and what to create, and why. It applies
// the plan (apply.go) as jobs, one for each CIDR. A job removes routes before it
// creates one. If it fails, it is retried alone. When it ends, its CIDR is planned
// again. The same pass decides which condition each Node shows.
//
// A job that only creates a route needs no new listing. A job that removes a route
// needs a listing that is newer than the last change of the Nodes.
//
// DESIGN.md has the states of a CIDR, what may never happen, and where a crash may
// fall.
package route
