// Package faults holds the faults that are set. It decides what they do to a
// call, and returns the decision as a Fate. Package api applies the Fate.
//
// It imports wire, input and state. Packages view, api and quota and the
// root may import it.
package faults
