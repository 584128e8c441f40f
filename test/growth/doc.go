// Package growth has a test that compares the cost of each Node in a cluster of
// 1,000 Nodes with its cost in a cluster of 20,000.
package growth
