// Package provider has the optional interfaces that a cloud provider can implement
// beyond cloudprovider.Interface. The daemon finds each of them by a type
// assertion, as io.Copy finds io.ReaderFrom. It looks at the value that the
// provider returns, and at the value that a wrapper's Unwrap returns. A provider
// without these interfaces works, too. Then each call is about one object, and
// fewer calls run at the same time.
//
// A provider's errors need nothing from this package: the daemon calls Classify,
// which recognises the errors of the common SDKs by their shape. A provider that
// knows its errors better can implement ErrorClassifier. For the errors that it
// does not know, the daemon calls Classify.
//
// Providers import this package. It imports no other package of this repository.
package provider
