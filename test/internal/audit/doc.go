// Package audit reads the log that the API server writes of every request. What
// daemons did is judged by it, in the end-to-end tests and in the benchmark.
package audit
