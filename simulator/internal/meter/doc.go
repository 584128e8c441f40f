// Package meter counts the calls of customers and remembers the most recent
// calls.
//
// It imports wire. Packages view and api and the root may import it.
package meter
