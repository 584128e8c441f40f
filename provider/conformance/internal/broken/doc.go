// Package broken is a cloud in memory, with a provider for that cloud. The
// provider keeps the whole contract, except for one flaw. A flaw has the ID of the
// check that must find it: New("instances/gone-by-id") makes a cloud whose
// provider fails this check.
package broken
