// Package app is the process of the daemon: the order in which everything starts
// and stops. Read command.go, run.go and lead.go, in this order. controllers.go
// lists the controllers. The package contains no rule of any controller.
//
// It starts the parts of the process, which are in the packages below it. These do
// not import each other, except that settings imports provider:
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
// informers, the controllers. So a replica whose factory fails never takes the
// lease from one that works.
//
// Every stop has the same order: the context of all work ends, work in flight has
// 8 seconds to return, and only then the lease is released. If the work has not
// returned by then, the process ends without releasing the lease, because the
// next leader must not change an object that a call of ours still changes. After
// a crash at any point, too, the lease is not released and expires.
package app
