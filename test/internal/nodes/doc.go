// Package nodes makes Nodes as kubelets register them and as the daemon leaves them,
// and checks how they look.
package nodes
