// Package state holds the resources of the simulated cloud: its instances, load
// balancers, static IPs, routes and volumes. It also holds their recent past,
// and the rules by which they change.
//
// One mutex guards all resources. Each resource is a row of a table. A row is never
// changed, only replaced, so it can still be used after the mutex is unlocked. A change
// is saved before any caller sees it. If it cannot be saved, it is undone.
//
// It imports wire and input. It serves no requests and opens no sockets. Config has a
// function that recognises the addresses of other clouds. Packages faults, forward, api
// and simulator may import it.
package state
