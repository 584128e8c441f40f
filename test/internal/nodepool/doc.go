// Package nodepool makes many initialised Nodes without kubelets, whose instances are
// in a cloud of their own. At the end of a test it checks each deletion: no healthy
// Node may be deleted, and none without the evidence that promise S1 requires.
package nodepool
