package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// ownName is the name of the program.
const ownName = "fairlead"

// calledAs returns how users call the program. kubectl runs a program named
// kubectl-fairlead for `kubectl fairlead`.
func calledAs(path string) string {
	if name := filepath.Base(path); strings.HasPrefix(name, "kubectl-") {
		return "kubectl " + ownName
	}
	return ownName
}

// show puts the name that users type into the help and the usage text.
func show(command *cobra.Command, name string) {
	if name == ownName {
		return
	}
	command.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	rename(command, name)
}

// rename puts the name into the examples of the command and its sub-commands.
func rename(command *cobra.Command, name string) {
	const indent = "  "
	lines := strings.Split(command.Example, "\n")
	for n, line := range lines {
		if rest, ok := strings.CutPrefix(line, indent+ownName+" "); ok {
			lines[n] = indent + name + " " + rest
		}
	}
	command.Example = strings.Join(lines, "\n")
	for _, c := range command.Commands() {
		rename(c, name)
	}
}
