// Package provider has the optional interfaces that a cloud provider can
// implement beyond cloudprovider.Interface. The daemon finds each one by a type
// assertion, as io.Copy finds io.ReaderFrom. The assertion is on the value that
// the provider returns, or that a wrapper's Unwrap returns. A provider without
// these interfaces works, too. Each of its calls is then about one object, and
// only some of them run at the same time.
//
// A provider's errors need nothing from this package: the daemon calls
// Classify, which recognises the errors of the common SDKs by their shape. A
// provider that knows its errors better can be an ErrorClassifier. It need not
// classify all of them.
//
// Providers import this package. It imports nothing else of this repository.
package provider
