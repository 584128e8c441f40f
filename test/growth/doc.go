// Package growth has a test that counts what each Node costs while a cluster grows
// from 1,000 to 20,000 Nodes.
package growth
