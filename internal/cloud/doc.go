// Package cloud makes all calls of the daemon to the provider. Only the
// conformance suite calls a provider without this package, to test it. Only
// offers.go asserts types of a provider's values.
//
// A provider is other people's code that talks to other people's machines, so
// the gateway expects failures of every kind. Each call has a deadline. A
// caller that has waited too long gets an error while the call still occupies
// its key. A panic becomes an error. Equal questions become one call. All calls
// share one rate limit, which adapts to the cloud's quota, and calls that an
// object waits for go before refreshes. Every error gets a Kind, whatever it is
// wrapped in, so that rules can tell an answer of the cloud from a failure to
// answer. DESIGN.md says what may never happen.
//
// This package takes the time from package time and not from a clock that was
// passed in, because the deadline of a context cannot follow another clock. Its
// tests run in testing/synctest.
//
// Package internal/app makes, initializes and opens a Provider. Controllers
// under internal/controller use the Gateway where they observe and apply; their
// rules do not import this package. Of this repository, this package imports
// only provider, internal/lease and internal/sleep.
package cloud
