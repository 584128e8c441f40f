// Package election manages the lease of this process. A replica becomes the leader,
// works while it leads, and releases the lease when its work is over. A second lease
// allows controllers to move between components one by one.
//
// The lease must not be released while work is in flight: the next leader must not
// change an object that one of our calls is still changing. If work does not return
// in time during a stop, the lease is not released. It expires.
//
// Only package app imports this package. The package uses neither flags nor
// controllers.
package election
