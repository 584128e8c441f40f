// Package provider manages the provider that is linked into the program. A factory
// makes the provider from its configuration file. The provider is initialised when this
// replica leads. When the provider's files change, the provider gets the new content.
//
// Every replica makes a provider before it takes part in the election. A process
// initialises only one provider, because a provider starts goroutines when it is
// initialised. So a standby replica can replace its provider, but a leader cannot. A
// provider that can reload its file does so on every replica. If a leader's provider
// cannot reload its file, a provider is first made from the new content, usually in a
// separate process (a trial). If that succeeds, the leader's process ends and is
// started again. The rule is in decide.go.
//
// Only internal/cloud calls a provider's methods. This package decides when they are
// called.
//
// Packages app and settings import this package. Package settings checks at start
// that the files can be read. This package uses neither flags nor controllers.
package provider
