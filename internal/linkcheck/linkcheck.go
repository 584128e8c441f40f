// Package linkcheck is the command `fairlead link-check`. It reads the go.mod of a
// provider's project, and finds the lines with which Fairlead cannot be linked.
//
// cmd/fairlead imports this package.
package linkcheck

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"

	"github.com/fairlead-k8s/fairlead/internal/inspect"
)

// modules has one line for each module in the graph of a project that links Fairlead:
// its path, and the version that Go selects.
//
//go:embed modules.txt
var modules string

// needed returns the versions in modules by the paths.
func needed() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(modules) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[path] = version
	}
	return all
}

// Report is what the command has found in one file.
type Report struct {
	File     string    `json:"file"`
	Module   string    `json:"module"`
	Findings []Finding `json:"findings"`
}

// New returns the command. The folder is its only argument.
func New(arguments cobra.PositionalArgs) *cobra.Command {
	output := inspect.NewOutput()
	cmd := &cobra.Command{
		Use:   "link-check DIR",
		Short: "Find the lines of a go.mod with which Fairlead cannot be linked",
		Long: `Find the lines of a go.mod with which Fairlead cannot be linked.

DIR is the folder of your project. A replace line holds a module at a version that
may be too old for Kubernetes' packages. The compiler then reports an error in a
package that you have not written. A line that has to go is an error. A fork that
may be new enough is a warning. Each one comes with the command that changes it.

The versions are those of Fairlead when this program was built. Only go.mod is read:
not go.work, not the folder vendor, and not the go.mod of your dependencies.

Exit codes: 0; 1 if a line has to go, or if there is no go.mod.`,
		Example: `  fairlead link-check .
  fairlead link-check ../mycloud -o json`,
		Args: arguments,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := read(args[0])
			if err != nil {
				return fmt.Errorf("DIR: %w", err)
			}
			if err := output.Write(cmd.OutOrStdout(), r, r.text); err != nil {
				return err
			}
			if r.count(Error) > 0 {
				return inspect.Exit(inspect.Failed, nil)
			}
			return nil
		},
	}
	output.AddFlag(cmd)
	return cmd
}

// read returns the report about the go.mod in a folder.
func read(dir string) (Report, error) {
	file := filepath.Join(dir, "go.mod")
	data, err := os.ReadFile(file) //nolint:gosec // the user names a folder of their own
	if err != nil {
		return Report{}, err
	}
	mod, err := modfile.Parse(file, data, nil)
	if err != nil {
		return Report{}, fmt.Errorf("not a go.mod: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	r := Report{File: file, Findings: check(mod, needed())}
	if mod.Module != nil {
		r.Module = mod.Module.Mod.Path
	}
	return r, nil
}

// count returns the number of findings of a level.
func (r Report) count(level Level) (n int) {
	for _, f := range r.Findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// text returns the report for people.
func (r Report) text() string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s:%d: %s: %s\n  %s\n  %s\n\n", r.File, f.Line, f.Level, f.Text, f.Why, f.Do)
	}
	if n := r.count(Error); n > 0 {
		fmt.Fprintf(&b, "With %d of the lines Fairlead cannot be linked. After the commands: go mod tidy\n", n)
		return b.String()
	}
	b.WriteString("No line has to go. Whether your code compiles with these versions, go build says.\n")
	return b.String()
}
