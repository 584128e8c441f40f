// Package wire holds the types of the simulated cloud's HTTP API, in the form
// in which they are written as JSON, and its errors and paths.
//
// Every other package of the simulator may import it, and it imports none of
// them. Programs use package simulator, which has an alias for each type that
// they need.
package wire
