package settings

import (
	"errors"
	"testing"
)

func TestRenamedFlagNamesItsReplacement(t *testing.T) {
	flags := flagSet(New(ours))
	for old, now := range renamed {
		if flags.Lookup(old) != nil {
			t.Errorf("--%s exists", old)
		}
		if flags.Lookup(now) == nil {
			t.Errorf("--%s does not exist", now)
		}
	}
	for arg, want := range map[string]string{
		"--node-deletion-crowd-nodes=3":  "unknown flag: --node-deletion-crowd-nodes: its name is --node-deletion-budget-nodes now",
		"--node_deletion_crowd_nodes=3":  "unknown flag: --node_deletion_crowd_nodes: its name is --node-deletion-budget-nodes now",
		"--route-deletion-crowd-for=10m": "unknown flag: --route-deletion-crowd-for: its name is --route-deletion-over-budget-after now",
		"--nope":                         "unknown flag: --nope",
	} {
		if got := ExplainUnknown(flags.Parse([]string{arg})); got == nil || got.Error() != want {
			t.Errorf("%s: %v, want %q", arg, got, want)
		}
	}
	if other := errors.New("other"); ExplainUnknown(other) != other { //nolint:errorlint // it must be the same value
		t.Error("another error is changed")
	}
}
