// Package api serves the simulated cloud's HTTP API: it reads requests, lets
// them meet their faults, has them carried out by the state, and writes the
// answers. Each kind of resource has one file here; what all kinds share knows
// no kind.
//
// It imports all other packages of the simulator except persistence. Only the
// root, package simulator, imports it.
package api
