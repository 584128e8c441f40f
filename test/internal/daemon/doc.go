// Package daemon is a daemon under test: how it is started, what it logs and serves.
package daemon
