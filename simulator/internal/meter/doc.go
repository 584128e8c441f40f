// Package meter counts the calls of customers and remembers the last ones.
//
// It imports wire. Packages view and api and the root may import it.
package meter
