// Package audit reads the audit log, in which the API server records every
// request. The end-to-end tests and the benchmark check with it what the daemons
// have done.
package audit
