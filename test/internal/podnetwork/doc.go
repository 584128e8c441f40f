// Package podnetwork makes Nodes, and a simulated cloud whose routes lead to their pods.
// It compares the routes, and the condition NetworkUnavailable, with the Nodes.
package podnetwork
