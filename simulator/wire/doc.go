// Package wire holds the types of the simulated cloud's HTTP API as they are
// encoded in JSON, and the errors and paths of the API.
//
// Every other package of the simulator may import it, and it imports none of
// them. Programs use package simulator, which has an alias for each type that
// they need.
package wire
