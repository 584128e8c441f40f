// Package state holds what the simulated cloud has: its instances, load
// balancers, static IPs and routes, what they were a while ago, and the rules by
// which they change.
//
// One mutex guards all of it. A row is replaced and never changed, so a row that
// was read may be used without the mutex. A change is durable before anybody
// sees it: if it cannot be saved, it has not happened.
//
// It imports wire and input. It knows no HTTP, no file and no socket: what
// saves it, and which addresses belong to another cloud, is passed in by Config.
// faults, forward, persistence, view and api may import it.
package state
