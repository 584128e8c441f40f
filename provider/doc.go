// Package provider holds what a cloud provider may offer beyond
// cloudprovider.Interface. Each interface is optional. It is found by a type
// assertion on what the provider returns, as io.ReaderFrom is, or on what a
// wrapper's Unwrap returns. A provider without them works, too: then each call
// is about one object, and only some calls run at the same time.
//
// For its errors a provider needs nothing of this package: the daemon
// recognises the errors of the common SDKs by their shape, as Classify does. A
// provider that knows its errors better can be an ErrorClassifier. It need not
// classify all of them.
//
// Providers import this package. It imports nothing else of this repository.
package provider
