// Package shadow remembers what a daemon with --shadow would have done, and finds
// where something else has happened.
//
// Its rules are pure. It never assumes that somebody has done what it has decided:
// only the cluster and the cloud say what has happened (decision 20).
package shadow
