// Package typo finds the sub-command or the flag that the user probably meant.
//
// The packages of commands import this package: cmd/fairlead, cmd/simcloud,
// internal/doctor, internal/command and internal/daemon/settings.
package typo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-k8s/fairlead/provider/kit/suggest"
)

// distance is the maximum number of wrong, missing or extra letters in a
// sub-command.
const distance = 2

// NoArguments is the cobra.PositionalArgs of a command that takes no arguments. The
// error names the sub-command that was probably meant.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], c.CommandPath(), Command(c, args[0]))
}

// Completion makes cobra's sub-command "completion" fail for an unknown shell.
// Otherwise the sub-command would print its help, and the exit code would be 0.
func Completion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		var shells []string
		for _, shell := range c.Commands() {
			shells = append(shells, shell.Name())
		}
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return fmt.Errorf("%s: %q is none of %s", c.CommandPath(), args[0], strings.Join(shells, ", "))
		}
	}
}

// Help makes cobra's sub-command "help" fail for a command that does not exist.
// Otherwise "help" would print the usage, and the exit code would be 0.
func Help(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.RunE = func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 && found.HasAvailableSubCommands() {
				return fmt.Errorf("unknown command %q for %q%s", rest[0], found.CommandPath(), Command(found, rest[0]))
			}
			return found.Help()
		}
	}
}

// Command returns a question that names the sub-commands that the user probably
// meant. The question is empty if no sub-command is similar.
func Command(c *cobra.Command, word string) string {
	c.SuggestionsMinimumDistance = distance
	return suggest.Question(c.SuggestionsFor(word))
}

// FlagError is a function for cobra.Command.SetFlagErrorFunc. The error names the
// flag that the user probably meant, and the command that lists all flags. If there
// is an unknown word in the place of a sub-command, the error is about that word.
// In this case the flag probably belongs to the sub-command that the user meant.
func FlagError(c *cobra.Command, err error) error {
	if words := c.Flags().Args(); len(words) > 0 && c.HasAvailableSubCommands() {
		return NoArguments(c, words)
	}
	if _, ok := errors.AsType[*pflag.NotExistError](err); !ok {
		return err
	}
	return fmt.Errorf("%w; %s --help says more", Flag(err, c.Flags()), c.CommandPath())
}

// Flag adds a question to an error about a flag that does not exist. The question
// names the flags that the user probably meant. Flag returns any other error
// unchanged.
func Flag(err error, flags *pflag.FlagSet) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	if q := suggest.Question(near(strings.ReplaceAll(unknown.GetSpecifiedName(), "_", "-"), flags)); q != "" {
		return fmt.Errorf("%w%s", err, q)
	}
	return err
}

// near returns the flags whose names are most similar to the word. It returns
// none if no name is similar enough.
func near(word string, flags *pflag.FlagSet) (all []string) {
	var known []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	for _, name := range suggest.Near(word, known) {
		all = append(all, "--"+name)
	}
	return all
}
