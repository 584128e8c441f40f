// Package expect waits for conditions and compares values. It has no fixed sleeps.
// It polls until a condition is true or the time is over.
package expect
