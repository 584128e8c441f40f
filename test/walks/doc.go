// Package walks has a test that runs random sequences of events in the lives of Services
// and Nodes. Such a sequence is called a path. The test runs the controllers, and the
// gateway of package cloud. The provider has quirks of real providers (package quirks),
// and its lists and watches can be wrong. The API server can refuse writes, its watches can
// be late and then skip events, and the cloud can fail.
package walks
