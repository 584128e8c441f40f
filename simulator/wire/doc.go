// Package wire holds the types of the simulated cloud's HTTP API as they are
// encoded in JSON, and the errors and paths of the API.
//
// It imports no other package of the simulator. All of them may import it. Programs use
// package simulator, which has an alias for each type that they need.
package wire
