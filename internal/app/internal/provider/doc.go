// Package provider is the life of the provider that is linked into the program:
// it is made by its factory from its configuration file, initialised when this
// replica leads, and follows its files when they change.
//
// Every replica makes a provider, before one of them leads. A provider is
// initialised once in a process, and providers start goroutines of their own
// then. So a replica that stands by can replace its provider, and a leader
// cannot: there the provider reloads its file itself, or the process ends.
//
// Only internal/cloud calls a provider's methods; this package decides when.
//
// Package app imports it, and the settings, which check at start that the files
// can be read. It imports internal/cloud. It knows neither flags nor
// controllers.
package provider
