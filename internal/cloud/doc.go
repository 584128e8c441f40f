// Package cloud makes all calls of the daemon to the provider. Only offers.go makes
// type assertions on a provider's values.
//
// A provider is other people's code that talks to other people's machines, so the
// gateway expects failures of every kind. A call that changes nothing in the cloud is
// called a question. Each call has a deadline. A caller that has waited too long gets
// an error, but its call counts as under way until it returns. A panic becomes an
// error. Equal questions become one call. Each class of calls
// keeps to the cloud's quota for it. Calls for waiting objects go before refreshes. Every error gets
// a Kind, even if it is wrapped. The Kind tells the rules whether the cloud has
// answered. DESIGN.md lists what must never happen.
//
// This package uses package time and no injected clock, because the deadline of a
// context cannot follow an injected clock. The tests use testing/synctest.
//
// Package internal/daemon makes, initializes and opens a Provider. Controllers under
// internal/controller use the Gateway to observe the cloud and to change it. Their
// rules do not import this package. From this repository, this package imports only
// provider, internal/lease and internal/sleep.
package cloud
