// Package explain is the command `fairlead explain`: why an object waits, in the words
// of the daemon.
//
// What is read from the cluster is a View. The rules (rules_*.go) are pure: they make
// an Answer of it. They have no words of their own for a reason, because the daemon has
// written reason and message on the object.
//
// Only cmd/fairlead imports it.
package explain
