// Package audit reads the audit log, in which the API server records every request.
// The end-to-end tests and the benchmark use it to check the requests of the
// daemons.
package audit
