// Package serving contains the HTTPS servers of the daemon. They serve health to
// everybody, metrics and debugging to authorized clients, and the webhooks that a
// program adds.
//
// The servers end last, so that the process can be observed while it waits for its
// work in flight.
//
// Only package app imports this package, which uses neither flags nor controllers.
// Package app passes in functions that report the state of the other parts.
package serving
