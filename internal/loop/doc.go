// Package loop has the queue and the workers that every controller uses. Two
// workers never have the same key at the same time. Keys with high priority go
// first, but keys with low priority get a share of the passes (decision 9). The namespaces
// of keys take turns. Delays grow after failures. A health check finds passes that do not
// end.
//
// The Result of a pass says when the next pass over the key is needed. The delay
// after failures is computed in backoff.go.
//
// Controllers under internal/controller and internal/app import this package. It
// imports nothing of this repository.
package loop
