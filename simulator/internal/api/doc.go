// Package api serves the simulated cloud's HTTP API. It reads requests, applies
// the faults that hit them, carries them out with package state, and writes the
// answers. Each kind of resource has one file here. The other files are the
// same for all kinds.
//
// It imports all other internal packages of the simulator except persistence and
// traffic. Only the root, package simulator, imports it.
package api
