// Package walks has a test that walks at random through the lives of Services and
// Nodes: with the controllers, the gateway, a provider with habits of real ones
// (package quirks), lists and watches that are wrong, an API server that refuses
// writes, and a cloud that fails.
package walks
