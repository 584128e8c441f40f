// Package provider manages the provider that is linked into the program. Its factory
// makes it from its configuration file. It is initialised when this replica leads.
// When its files change, it gets the new content.
//
// Every replica makes a provider, before one of them leads. A process initialises a
// provider only once, because the provider starts goroutines then. So a standby
// replica can replace its provider, but a leader cannot. A provider that can reload
// its file does so on every replica. If a leader's provider cannot reload, the
// process ends. Before that, a trial must have made a provider from the new content.
// The rule is in decide.go.
//
// Only internal/cloud calls a provider's methods; this package decides when.
//
// Package app imports this package. So does package settings, which checks at start
// that the files can be read. This package uses neither flags nor controllers.
package provider
