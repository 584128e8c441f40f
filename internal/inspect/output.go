// Package inspect has the common parts of the fairlead commands that look at a
// cluster: the flags of the connection, a client that only reads, the formats of
// the output, and the exit codes.
//
// The packages of these commands and cmd/fairlead import this package.
package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-k8s/fairlead/internal/printable"
)

// The formats that each command supports.
const (
	Text = "text"
	JSON = "json"
	YAML = "yaml"
)

// Output is the output format of a command. It is a pflag.Value.
type Output struct {
	format  string
	formats []string
}

// NewOutput returns an Output whose default format is text. The user can choose JSON or
// YAML instead, or one of the additional formats that the arguments name.
func NewOutput(also ...string) *Output {
	return &Output{format: Text, formats: append([]string{Text, JSON, YAML}, also...)}
}

// AddFlag adds the flag -o to a command.
func (o *Output) AddFlag(command *cobra.Command) {
	command.Flags().VarP(o, "output", "o", "output format: "+o.choices())
	complete := cobra.FixedCompletions(o.formats, cobra.ShellCompDirectiveNoFileComp)
	_ = command.RegisterFlagCompletionFunc("output", complete) // cannot fail, because the flag exists
}

func (o *Output) choices() string {
	last := len(o.formats) - 1
	return strings.Join(o.formats[:last], ", ") + " or " + o.formats[last]
}

// String returns the format.
func (o *Output) String() string { return o.format }

// Type returns the name of the value in the help.
func (*Output) Type() string { return "format" }

// Set chooses a format.
func (o *Output) Set(format string) error {
	if !slices.Contains(o.formats, format) {
		return fmt.Errorf("want %s", o.choices())
	}
	o.format = format
	return nil
}

// Write writes the value as JSON or YAML. For other formats, it calls text and writes
// the result. The output may contain what others have written, so Write makes it safe
// for a terminal. A YAML document begins with a line of dashes, so that several
// documents form a stream.
func (o *Output) Write(out io.Writer, value any, text func() string) error {
	if o.format != JSON && o.format != YAML {
		_, err := io.WriteString(printable.Writer(out), text())
		return err
	}
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	before := ""
	if o.format == YAML {
		before = "---\n"
		if data, err = yaml.JSONToYAML(data); err != nil {
			return err
		}
		data = data[:len(data)-1] // without the line feed at the end
	}
	_, err = fmt.Fprintf(printable.JSON(out), "%s%s\n", before, data)
	return err
}
