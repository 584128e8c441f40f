// Package settings parses and checks the command line of the daemon. It has the
// flags, their defaults, the rules for their values, the feature gates, and the
// content of /configz.
//
// Each group of settings has one file. The file has the group's flags, their rules,
// their values in /configz, and the configuration for a part of the daemon. For a
// new flag, change that file and its tests, and generate docs/reference/flags.md
// from the flags.
//
// Only package app imports this package. The package imports the parts whose
// configuration it fills in, and these parts never import it. It starts nothing.
package settings
