// Package doctor searches a cluster for faults of its cloud-controller-manager.
//
// The checks are a table of pure functions in rules_*.go, which look at a cluster.View.
// Each check has a permanent ID and returns findings. Run collects them in a report. The
// package writes nothing to the cluster, and sends no requests to kubelets.
package doctor
