//go:build !race

package conformance

// race reports whether this program was built with the race detector.
const race = false
