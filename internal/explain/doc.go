// Package explain has the command `fairlead explain`, which says why an object waits,
// in the words of the daemon.
//
// A View has the data that was read from the cluster. The rules (rules_*.go) are pure
// functions that turn a View into an Answer. They do not invent reasons, because the
// daemon has written the reason and the message on the object.
//
// Only cmd/fairlead imports this package.
package explain
