// Package walks has a test that takes random paths through the lives of Services
// and Nodes. It runs the controllers and the gateway. The provider has habits of
// real ones (package quirks), its lists and watches can be wrong, the API server
// refuses writes, and the cloud fails.
package walks
