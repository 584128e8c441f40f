// Package loop is the one queue of all controllers: keys in, at most one
// worker for a key at a time, growing delays for what fails, and a health
// check that notices a worker which never comes back.
//
// What a controller wants of its loop is said by the Result of each pass; the
// delays themselves are the rule in retry.go.
package loop
