// Package loop has the queue and the workers that every controller uses. Two workers never
// process the same key at the same time. Keys with high priority go first, but keys with
// low priority get a share of the passes (decision 9). The namespaces of keys take turns.
// After failures, the delay of a key grows. A health check finds passes that do not end.
//
// The Result of a pass says when the next pass over the key is needed. backoff.go
// computes the delay after failures.
//
// internal/daemon, internal/dryrun and the controllers under internal/controller import
// this package.
// It imports no other package of this repository.
package loop
