// Package ledger remembers the decisions of a daemon with --shadow, and finds the
// differences from what has really happened.
//
// Its rules are pure. It never assumes that somebody has carried out a decision.
// Only the cluster and the cloud say what has happened (decision 20).
package ledger
