// Package settings is the command line of the daemon: its flags, their
// defaults, the rules that their values must keep, the feature gates, and what
// /configz shows.
//
// A setting is one group, in one file: the flag, its rule, what /configz shows
// of it, and the configuration that its part of the daemon takes. A new flag
// changes that file alone, and docs/reference/flags.md, which is made from the
// flags.
//
// Only package app imports it. It imports the parts whose configuration it
// fills in, never the other way round, and it starts nothing.
package settings
