// Package input reads and checks input from outside: the body of a request, a
// fault, the state file. Its errors name the field that is wrong.
//
// It does not depend on any kind of resource. It imports no other package of the
// simulator. All packages of the simulator except wire may import it.
package input
