// Package route gives the pod CIDRs of every Node a route in the cloud, and removes
// routes that no Node needs.
//
// Each pass plans the whole table, at most once a second. It observes the Nodes, the
// newest listing of the cloud's routes, and the changes that this process has made since
// then (observe.go). It decides which routes to remove and to create, and why (decide.go
// and rules_*.go, which are pure functions). It applies the plan as jobs, one for each
// CIDR (apply.go). A job removes routes before it creates one. If a job fails, only that
// job is retried. The pass also decides which condition each Node shows.
//
// A job that only creates a route needs no new listing, unless the last job for its
// CIDR has failed. A job that removes a route needs a listing that is newer than the
// last change of the Nodes.
//
// DESIGN.md has the states of a CIDR. It lists the things that must never happen, and
// the points at which a crash can happen.
package route
