package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/internal/scaffold"
	"github.com/fairlead-k8s/fairlead/internal/versions"
)

const (
	textOutput = "text"
	jsonOutput = "json"
)

// creation has the arguments of the command `fairlead new`.
type creation struct {
	version  versions.Version
	name     string
	module   string
	dir      string
	checkout string
	output   string
}

func newNew(v versions.Version) *cobra.Command {
	n := creation{version: v}
	command := &cobra.Command{
		Use:        "new NAME --module PATH",
		SuggestFor: []string{"init", "create"},
		Short:      "Write the project of a daemon for your cloud",
		Long: `Write the project of a daemon for your cloud.

NAME is the name of the cloud. It becomes the value of --cloud-provider, and the
scheme of the provider IDs that are written into each Node. It cannot be changed
later.

The project is complete: a provider with tests, a main.go, an image, values for the
chart, a CI file, and a README with the next steps. Until you fill in the calls of
your cloud, the provider uses the simulated cloud. No existing file is overwritten.

go.mod requires the version of Fairlead to which this program belongs. With
--replace it points to a checkout of Fairlead instead. That is useful if you work on
both, and necessary if this program was built from a checkout, because then it has
no version that Go could fetch. Others do not have that folder, so remove the line
before you publish the project:

  go mod edit -dropreplace ` + scaffold.Fairlead + ` -droprequire ` + scaffold.Fairlead + `
  go get ` + scaffold.Fairlead + `@latest`,
		Example: `  # Into the folder acme
  fairlead new acme --module github.com/acme/acme-cloud-controller-manager

  # Into this folder
  fairlead new acme --module example.com/acme --dir .

  # In a checkout of Fairlead, with what was built there
  bin/fairlead new acme --module example.com/acme --dir ../acme --replace .`,
		Args:              wantOne,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, args []string) error {
			n.name = args[0]
			return n.run(command.OutOrStdout())
		},
	}
	f := command.Flags()
	f.StringVar(&n.module, "module", "", "module path of the new Go module")
	f.StringVar(&n.dir, "dir", "", "folder to write to (default: NAME)")
	f.StringVar(&n.checkout, "replace", "", "folder of a checkout of Fairlead, which go.mod then uses instead of a version")
	f.StringVarP(&n.output, "output", "o", textOutput, "output format: text or json")
	for name, complete := range map[string]cobra.CompletionFunc{
		"module": cobra.NoFileCompletions,
		"output": cobra.FixedCompletions([]string{textOutput, jsonOutput}, cobra.ShellCompDirectiveNoFileComp),
	} {
		_ = command.RegisterFlagCompletionFunc(name, complete) // cannot fail: the flag exists
	}
	for _, name := range []string{"dir", "replace"} {
		_ = command.MarkFlagDirname(name) // cannot fail: the flag exists
	}
	return command
}

// wantOne is the cobra.PositionalArgs of a command with one argument.
func wantOne(command *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want `fairlead %s`, got %d arguments; --help says more", command.Use, len(args))
	}
	return nil
}

// created describes a new project.
type created struct {
	Name   string   `json:"name"`
	Module string   `json:"module"`
	Dir    string   `json:"dir"`
	Files  []string `json:"files"`
	// Next lists the commands to run next.
	Next []string `json:"next"`
}

func (n creation) run(out io.Writer) error {
	if n.dir == "" {
		n.dir = n.name
	}
	if err := n.check(); err != nil {
		return err
	}
	project := scaffold.Project{Name: n.name, Module: n.module, Version: n.version.Module}
	change := "cd " + shellWord(n.dir)
	next := []string{change, "go mod tidy", "go test ./..."}
	if n.checkout != "" {
		var err error
		if project.Checkout, err = n.replacement(); err != nil {
			return fmt.Errorf("--replace: %w", err)
		}
		next = []string{change, "go test ./..."}
	}
	files := project.Files()
	if err := scaffold.Write(n.dir, files); err != nil {
		return fmt.Errorf("--dir=%s: %w", n.dir, err)
	}
	c := created{Name: n.name, Module: n.module, Dir: n.dir, Next: next}
	for _, f := range files {
		c.Files = append(c.Files, f.Path)
	}
	return c.print(out, n.output)
}

// check reports errors of the command line before anything is written.
func (n creation) check() error {
	if err := scaffold.CheckName(n.name); err != nil {
		return fmt.Errorf("NAME: %w", err)
	}
	if n.module == "" {
		return fmt.Errorf("--module is missing: the path of the Go module, such as github.com/%s/%s-cloud-controller-manager", n.name, n.name)
	}
	if err := scaffold.CheckModule(n.module); err != nil {
		return fmt.Errorf("--module: %w", err)
	}
	if n.output != textOutput && n.output != jsonOutput {
		return fmt.Errorf("--output: %q is neither text nor json", n.output)
	}
	if n.checkout == "" && n.version.Module == "" {
		return errors.New("--replace is missing: this fairlead was built from a checkout and has no version that Go could fetch, so give the folder of that checkout")
	}
	return nil
}

// replacement returns the path of the checkout for go.mod. In go.mod, a relative
// path begins at the project's folder.
func (n creation) replacement() (string, error) {
	text, err := os.ReadFile(filepath.Join(n.checkout, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("%q is not a checkout of Fairlead: %w", n.checkout, err)
	}
	if !bytes.HasPrefix(text, []byte("module "+scaffold.Fairlead+"\n")) {
		return "", fmt.Errorf("%q is not a checkout of Fairlead: its go.mod is of another module", n.checkout)
	}
	if filepath.IsAbs(n.checkout) {
		return n.checkout, nil
	}
	project, err := filepath.Abs(n.dir)
	if err != nil {
		return "", err
	}
	checkout, err := filepath.Abs(n.checkout)
	if err != nil {
		return "", err
	}
	relative, err := filepath.Rel(project, checkout)
	if err != nil {
		return "", err
	}
	relative = filepath.ToSlash(relative)
	if relative != ".." && !strings.HasPrefix(relative, "../") {
		relative = "./" + relative // without the prefix, go.mod would take it for a module path
	}
	return relative, nil
}

func (c created) print(out io.Writer, form string) error {
	if form == jsonOutput {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(c)
	}
	_, err := fmt.Fprintf(out, `%d files written to %s: a cloud-controller-manager for %s.

Next:

  %s

Then %s says how to see it work.
`, len(c.Files), c.Dir, c.Name, strings.Join(c.Next, "\n  "), filepath.Join(c.Dir, "README.md"))
	return err
}

// shellWord returns a path as one word of a command line.
func shellWord(path string) string {
	if !strings.ContainsAny(path, " \t\r\n'\"`$&|;<>()[]{}*?!#~\\") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
