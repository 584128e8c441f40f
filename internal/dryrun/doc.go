// Package dryrun says what the daemon would do, and changes nothing: Plan once, for the
// sub-command "plan", and Shadow until it is stopped, for --shadow.
//
// The daemon's own controllers decide. They are made as in the daemon, but are only
// asked for their plans.
package dryrun
