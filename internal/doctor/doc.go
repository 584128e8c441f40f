// Package doctor looks at a cluster for faults of its cloud-controller-manager.
//
// Observe lists what the checks need, with a bounded number of requests, and
// records each right that the caller lacks. The checks are a table of pure
// functions, in rules_*.go: each has a permanent ID and returns findings. Run makes a
// report of them. Nothing is written, and no kubelet is asked.
package doctor
