// Package explain has the command `fairlead explain`, which says in the words of the
// daemon why an object waits.
//
// A View has the data that was read from the cluster. The rules (rules_*.go) are pure
// functions that turn a View into an Answer. They do not invent reasons, because the
// daemon has written the reason and the message on the object.
//
// Only cmd/fairlead imports this package.
package explain
