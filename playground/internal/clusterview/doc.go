// Package clusterview describes the cluster for the page of the simulated cloud: Nodes and Services with their
// conditions, deletions that wait, and what the cloud-controller-manager has reported last. The words are those that it
// has written into the cluster. The package only reads.
package clusterview
