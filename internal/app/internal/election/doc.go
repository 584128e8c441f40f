// Package election holds the lease of this process: a replica becomes the leader,
// works while it leads, and releases the lease when its work is over. With a second
// lease, controllers can move between components one by one.
//
// The lease must not be released while work is in flight, because the next
// leader must not change an object that a call of ours still changes. If work does
// not return within the time that the process has to stop, the lease is not
// released and expires.
//
// Only package app imports it. It uses neither flags nor controllers.
package election
