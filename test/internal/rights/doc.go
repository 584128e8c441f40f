// Package rights reads what a manifest allows the daemon, and counts which of these
// rights the tests use.
package rights
