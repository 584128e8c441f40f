// Package typo finds the sub-command or the flag that was probably meant by a
// mistyped one.
//
// The commands import it: fairlead, simcloud, and the daemon's in package app.
package typo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// distance is how many letters may be wrong, too many or missing.
const distance = 2

// NoArguments is the cobra.PositionalArgs of a command that takes none. The error
// names the sub-command that was probably meant.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], c.CommandPath(), Command(c, args[0]))
}

// Command returns a question that names the sub-commands that were probably meant.
// It is empty if there are none.
func Command(c *cobra.Command, word string) string {
	c.SuggestionsMinimumDistance = distance
	return question(c.SuggestionsFor(word))
}

// FlagError is the function of cobra.Command.SetFlagErrorFunc. It says which flag
// was probably meant and where all flags are listed.
func FlagError(c *cobra.Command, err error) error {
	if _, ok := errors.AsType[*pflag.NotExistError](err); !ok {
		return err
	}
	return fmt.Errorf("%w; %s --help says more", Flag(err, c.Flags()), c.CommandPath())
}

// Flag adds such a question to the error about a flag that does not exist. It
// returns other errors as they are.
func Flag(err error, flags *pflag.FlagSet) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	if q := question(near(strings.ReplaceAll(unknown.GetSpecifiedName(), "_", "-"), flags)); q != "" {
		return fmt.Errorf("%w%s", err, q)
	}
	return err
}

func question(meant []string) string {
	if len(meant) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(meant, " or ") + "?"
}

// near returns the flags whose names are closest to the word, if any is close
// enough.
func near(word string, flags *pflag.FlagSet) (all []string) {
	best := min(distance, len(word)/2)
	flags.VisitAll(func(f *pflag.Flag) {
		switch d := edits(word, f.Name); {
		case f.Hidden || d > best:
		case d < best:
			best, all = d, []string{"--" + f.Name}
		default:
			all = append(all, "--"+f.Name)
		}
	})
	return all
}

// edits returns how many letters have to be inserted, removed or replaced to make
// b of a (Levenshtein's distance).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			replaced := before[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, before[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
