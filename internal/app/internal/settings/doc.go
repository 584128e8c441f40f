// Package settings is the command line of the daemon. It has the flags, their
// defaults, the rules for their values, the feature gates, and the content of
// /configz.
//
// Each group of settings has one file. The file has the group's flags, their rules,
// their values in /configz, and the configuration for a part of the daemon. A new
// flag changes that file, its tests, and docs/reference/flags.md. That page is
// generated from the flags.
//
// Only package app imports it. It imports the parts whose configuration it fills in,
// and these parts never import it. It starts nothing.
package settings
