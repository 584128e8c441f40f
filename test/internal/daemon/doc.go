// Package daemon runs a daemon under test, and reads what it logs and serves.
package daemon
