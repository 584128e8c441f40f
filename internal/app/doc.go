// Package app is the process of the daemon: the order in which everything starts
// and stops. Read command.go, run.go and lead.go, in this order. controllers.go
// lists what it starts. It knows no rule of any controller.
//
// What it starts are packages below it that do not know each other:
//
//	settings  flags, their rules, feature gates, /configz
//	serving   HTTPS, health, metrics, webhooks
//	election  leader election, leader migration, the release of the lease
//	provider  the factory, the start of the provider, its configuration files
//
// Only package ccm imports it.
//
// Start: flags, clients, the provider's factory, the server, the election;
// then, under the lease, the provider's Initialize and SetInformers, our
// informers, the controllers. A factory that fails therefore never takes the
// lease from a replica that works.
//
// Stop, for whatever reason: the context of all work ends, work in flight has
// election.DrainTimeout to return, and only then the lease is released. If it has not
// returned by then, the process ends without releasing the lease, because the
// next leader must not change an object that a call of ours still changes.
// A crash at any point leaves the lease to expire, which has the same effect.
package app
