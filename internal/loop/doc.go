// Package loop is the queue and the workers that every controller has: at most
// one worker for a key at a time, keys with high priority first, growing delays
// after failures, and a health check that finds a pass which does not end.
//
// The Result of a pass says what the controller asks for next. How long a key
// waits after failures is the rule in backoff.go.
//
// Controllers under internal/controller import this package. It imports nothing
// of this repository.
package loop
