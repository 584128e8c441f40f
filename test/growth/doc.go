// Package growth has a test that compares the cost per Node in a cluster of 1,000 Nodes
// with the cost per Node in a cluster of 20,000 Nodes.
package growth
