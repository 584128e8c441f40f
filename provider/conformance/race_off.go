//go:build !race

package conformance

// race reports whether the race detector watches this program.
const race = false
