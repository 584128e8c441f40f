// Package clusterview describes the cluster for the page of the simulated cloud: Nodes and Services
// with their conditions, deletions that wait, and the latest events of the
// cloud-controller-manager. It shows the texts that the cloud-controller-manager has written into
// the cluster. The package only reads from the cluster.
package clusterview
