// Package growth has a test that compares what each Node costs in a cluster of 1,000
// Nodes and in one of 20,000.
package growth
