// Package quirks imitates the quirks of real providers. Each quirk can wrap any
// cloudprovider.Interface. A test combines the quirks that it needs.
//
// A provider that is wrapped here offers none of Fairlead's own interfaces
// (package provider), because no real provider does.
//
// The package imports nothing of Fairlead.
package quirks
