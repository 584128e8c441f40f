// Package podnetwork makes Nodes, and a simulated cloud whose routes lead to their pods.
// It checks that the routes and the condition NetworkUnavailable agree with the Nodes.
package podnetwork
