// Package meter counts the calls of customers and remembers the most recent
// calls.
//
// It imports wire. Packages view, api and simulator may import it.
package meter
