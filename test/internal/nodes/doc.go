// Package nodes makes Nodes in the state in which kubelets register them, and in the
// state in which the daemon leaves them. It also checks Nodes.
package nodes
