// Package daemon runs a daemon under test, and reads its log and its HTTP responses.
package daemon
