// Package provider holds what a cloud provider may offer beyond
// cloudprovider.Interface. Each interface is optional and found by a type
// assertion on what the provider returns, as io.ReaderFrom is. A provider
// without them works, with bounded calls for one object at a time.
//
// Errors need nothing of it: the daemon reads those of the common SDKs by their
// shape, as Classify does. A provider that knows its errors better is an
// ErrorClassifier. It need not know all of them.
//
// Providers import this package. It imports nothing of this repository.
package provider
