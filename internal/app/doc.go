// Package app is the process of the daemon: its flags, its HTTPS server, its
// lease, and the order in which everything starts and stops. It knows no rule
// of any controller; controllers.go lists what it starts.
//
// Start: flags, clients, the provider's factory, the server, the election;
// then, under the lease, the provider's Initialize and SetInformers, our
// informers, the controllers. A factory that fails therefore never takes the
// lease from a replica that works.
//
// Stop, for whatever reason: the context of all work ends, work in flight has
// drainTimeout to return, and only then the lease is given back. If it has not
// returned by then the process ends without giving the lease back, because the
// next leader must not change an object that a call of ours still changes.
// A crash at any point leaves the lease to expire, which says the same.
package app
