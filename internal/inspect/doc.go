// Package inspect is what the commands of fairlead that look at a cluster have in
// common: the flags of the connection, a client that only reads, the formats of
// the output, and the exit codes.
//
// The packages of these commands and cmd/fairlead import it.
package inspect
