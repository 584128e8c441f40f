// Package podnetwork makes Nodes whose pods are reached by routes of a cloud of their
// own, and compares the routes and the condition NetworkUnavailable with the Nodes.
package podnetwork
