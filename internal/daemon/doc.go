// Package daemon runs the process of the daemon. It starts and stops all parts of the
// process in order. Read run.go and lead.go, in this order. The file controllers.go
// lists the controllers. The rules of the controllers are in other packages.
//
// The parts of the process are in the packages below. These packages do not import
// each other, except that settings imports provider.
//
//	settings  flags, their rules, feature gates, /configz
//	serving   HTTPS, health, metrics, webhooks
//	election  leader election, leader migration, the release of the lease
//	provider  the factory, the start of the provider, its configuration files
//
// Package command parses the command line and calls Run. Package dryrun uses a process
// that only reads; look.go has what it needs of a process.
//
// The process starts in this order: flags, clients, the provider's factory, the
// server, the election. When this replica holds the lease, it calls the provider's
// Initialize and SetInformers, and then starts our informers and the controllers. So
// a replica whose factory fails never takes the lease from a replica that works.
//
// Every stop has the same steps. The context of all work ends. Work in flight has 8
// seconds to return. Then the lease is released. If the work has not returned in
// time, the process ends without releasing the lease: the next leader must not change
// an object that one of our calls is still changing. After a crash, the lease is not
// released either. It expires.
package daemon
