// Package nodepool makes many initialised Nodes. They have no kubelets, and their
// instances are in a cloud of their own. At the end of a test, it checks each deletion:
// the Node was not healthy, and there was the evidence that promise S1 requires.
package nodepool
