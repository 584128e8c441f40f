// Package api serves the simulated cloud's HTTP API. For each request, it
// applies the faults, carries the request out with package state, and writes the
// answer. Each kind of resource has one file here. The other files are the same
// for all kinds.
//
// Package api imports all other internal packages of the simulator except persistence
// and traffic. Only package simulator imports it.
package api
