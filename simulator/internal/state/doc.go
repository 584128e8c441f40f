// Package state holds the resources of the simulated cloud: its instances, load
// balancers, static IPs, routes and volumes. It also holds their recent past,
// and the rules by which they change.
//
// One mutex guards all resources. A row is never changed, only replaced, so a
// row that was read may be used without the mutex. A change is saved before any
// caller sees it. If it cannot be saved, it is undone.
//
// It imports wire and input. It serves no requests, and opens no files and no
// sockets. Config has a function that saves the state, and a function that
// recognises the addresses of other clouds. Packages faults, forward,
// persistence and api and the root may import it.
package state
