// Package inspect has the common parts of the fairlead commands that look at a
// cluster: the flags of the connection, a client that only reads, the formats of
// the output, and the exit codes.
//
// The packages of these commands and cmd/fairlead import this package.
package inspect
