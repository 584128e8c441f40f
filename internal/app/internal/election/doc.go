// Package election has the lease of this process: a replica becomes the leader,
// works while it leads, and releases the lease when its work is over. With a second
// lease, single controllers can move between components.
//
// The lease must not be released while work is in flight, because the next
// leader must not change an object that a call of ours still changes. Work that
// does not return within the time to stop leaves the lease to expire.
//
// Only package app imports it. It uses neither flags nor controllers.
package election
