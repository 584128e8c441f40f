// Package quirks offers the habits of real providers, each on top of any
// cloudprovider.Interface. A test combines the habits that it needs.
//
// A provider that is wrapped here offers none of Fairlead's own interfaces
// (package provider), because no real provider does.
//
// The package imports nothing of Fairlead.
package quirks
