// Package provider manages the provider that is linked into the program: its
// factory makes it from its configuration file, it is initialised when this replica
// leads, and it gets the new content when its files change.
//
// Every replica makes a provider, before one of them leads. A provider is
// initialised only once in a process, because it starts goroutines then. So a
// standby replica can replace its provider, but a leader cannot. A provider that can
// reload its file does so, on every replica. If a leader's provider cannot, the
// process ends, but only after a provider was made from the new content as a trial.
// decide.go has the rule.
//
// Only internal/cloud calls a provider's methods; this package decides when.
//
// Package app imports it. So does package settings, which checks at start that
// the files can be read. It imports internal/cloud. It uses neither flags nor
// controllers.
package provider
