// Package api serves the simulated cloud's HTTP API. For each request, it
// applies the faults, carries the request out with package state, and writes the
// answer. The kinds of resources are in kinds.go. The other files are the same for all
// kinds.
//
// Package api imports all other internal packages of the simulator except
// traffic. Only package simulator imports it.
package api
