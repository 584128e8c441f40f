// Package explain is the command `fairlead explain`: why an object waits, in the words
// of the daemon.
//
// What is read from the cluster is a View. The rules (rules_*.go) are pure: they turn
// it into an Answer. They do not word a reason themselves, because the daemon has
// written the reason and the message on the object.
//
// Only cmd/fairlead imports it.
package explain
