package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/internal/versions"
)

func TestNameThatUsersCallItBy(t *testing.T) {
	for path, want := range map[string]string{
		"fairlead":                           "fairlead",
		"/usr/local/bin/fairlead":            "fairlead",
		"kubectl-fairlead":                   "kubectl fairlead",
		"/home/a/.krew/bin/kubectl-fairlead": "kubectl fairlead",
	} {
		if got := calledAs(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestPluginSpeaksOfItself checks the usage and the examples of the plugin. They
// must show only commands that users of the plugin can type.
func TestPluginSpeaksOfItself(t *testing.T) {
	var check func(path []string, c *cobra.Command)
	check = func(path []string, c *cobra.Command) {
		var out bytes.Buffer
		root := newCommand(versions.Version{})
		show(root, "kubectl fairlead")
		root.SetOut(&out)
		root.SetArgs(append(path, "--help"))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Error(err)
		}
		if !strings.Contains(out.String(), "kubectl fairlead") {
			t.Errorf("the help of %v does not have the plugin's name:\n%s", path, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "  fairlead ") {
				t.Errorf("the help of %v has %q", path, line)
			}
		}
		for _, sub := range c.Commands() {
			check(append(append([]string{}, path...), sub.Name()), sub)
		}
	}
	check(nil, newCommand(versions.Version{}))
}

func TestPluginCompletes(t *testing.T) {
	var out bytes.Buffer
	root := newCommand(versions.Version{})
	show(root, "kubectl fairlead")
	root.SetOut(&out)
	root.SetArgs([]string{"__complete", "doc"})
	if err := root.ExecuteContext(t.Context()); err != nil || !strings.HasPrefix(out.String(), "doctor\t") {
		t.Errorf("completed %q, error %v", out.String(), err)
	}
}
