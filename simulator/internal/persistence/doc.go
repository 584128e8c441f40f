// Package persistence keeps the state of a simulated cloud in a file.
//
// It imports input and state. Only package simulator imports it.
package persistence
