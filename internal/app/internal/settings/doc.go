// Package settings is the command line of the daemon: its flags, their
// defaults, the rules that their values must keep, the feature gates, and what
// /configz shows.
//
// Each group of settings has one file, with its flags, their rules, their values in
// /configz, and the configuration for a part of the daemon. A new flag changes that
// file, its tests, and docs/reference/flags.md, which is generated from the flags.
//
// Only package app imports it. It imports the parts whose configuration it
// fills in, never the other way round, and it starts nothing.
package settings
