// Package rights reads the rights that a manifest gives the daemon, and records which
// of these rights the tests use.
package rights
