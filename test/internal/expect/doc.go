// Package expect waits for conditions and compares values. It has no fixed sleeps:
// it polls a condition until it holds or the time is over.
package expect
