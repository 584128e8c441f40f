package command

import (
	"io"
	"strings"
	"testing"
)

func TestRenamedFlagIsExplained(t *testing.T) {
	cmd := New(plain)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"--node-deletion-stranger-after=1m"})
	want := "its name is --node-deletion-foreign-after now\nAll flags: "
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
