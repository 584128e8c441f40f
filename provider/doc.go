// Package provider holds what a cloud provider may offer beyond
// cloudprovider.Interface. Each interface is optional and found by type
// assertion on what the provider returns, as io.ReaderFrom is: a provider
// without it works, through bounded calls for one object at a time.
package provider
