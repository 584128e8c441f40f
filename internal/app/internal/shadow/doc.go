// Package shadow remembers what a daemon that only looks would have done, and finds
// where something else has happened.
//
// Its rules are pure. Nothing that it decides is believed to have been done: only the
// cluster and the cloud say what has happened (decision 20).
package shadow
