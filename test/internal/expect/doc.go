// Package expect waits and compares. It has no fixed sleeps: what is awaited is asked
// for until it is there or the time is over.
package expect
