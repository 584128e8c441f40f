// Package provider manages the provider that is linked into the program. A factory
// makes the provider from its configuration file. The provider is initialised when
// this replica leads. When the provider's files change, it gets the new content.
//
// Every replica makes a provider before it takes part in the election. A process
// initialises only one provider, because a provider starts goroutines when it is
// initialised. So a standby replica can replace its provider, but a leader cannot. A
// provider that can reload its file does so on every replica. If a leader's provider
// cannot reload, the process ends and is started again, but only after a provider
// was made from the new content, usually in a separate process (a trial). The rule
// is in decide.go.
//
// Only internal/cloud calls a provider's methods. This package decides when they are
// called.
//
// Package app imports this package. So does package settings, which checks at start
// that the files can be read. This package uses neither flags nor controllers.
package provider
