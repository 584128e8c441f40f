// Package doctor searches a cluster for faults of its cloud-controller-manager.
//
// Observe reads the data for the checks, with a bounded number of requests. It
// records each right that the caller lacks. The checks are a table of pure functions
// in rules_*.go. Each check has a permanent ID and returns findings. Run collects the
// findings in a report. The package writes nothing to the cluster, and sends no
// requests to kubelets.
package doctor
