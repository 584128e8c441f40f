package settings

import (
	"errors"
	"strings"
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
	for name := range removed {
		if flags.Lookup(name) != nil {
			t.Errorf("--%s exists", name)
		}
	}
	for arg, want := range map[string]string{
		"--node-deletion-crowd-nodes=3":  "unknown flag: --node-deletion-crowd-nodes: its name is --node-deletion-budget-nodes now",
		"--node_deletion_crowd_nodes=3":  "unknown flag: --node_deletion_crowd_nodes: its name is --node-deletion-budget-nodes now",
		"--route-deletion-crowd-for=10m": "unknown flag: --route-deletion-crowd-for: its name is --route-deletion-over-budget-after now",
		"--logtostderr=true":             "unknown flag: --logtostderr: Kubernetes 1.26 has removed it; the log always goes to standard error",
		"--port=0":                       "unknown flag: --port: upstream has removed the port without TLS; --secure-port is the other one",
		"--cluster-nam=x":                "unknown flag: --cluster-nam; did you mean --cluster-name?",
		"--nope":                         "unknown flag: --nope",
	} {
		if got := Explain(flags.Parse([]string{arg}), flags); got == nil || got.Error() != want {
			t.Errorf("%s: %v, want %q", arg, got, want)
		}
	}
	if other := errors.New("other"); Explain(other, flags) != other { //nolint:errorlint // it must be the same value
		t.Error("another error is changed")
	}
}

func TestRenamedFlagIsJudged(t *testing.T) {
	want := "--node-deletion-crowd-nodes 3: unknown: unknown flag: --node-deletion-crowd-nodes: its name is --node-deletion-budget-nodes now"
	if got := judged(t, New(ours), "--cloud-provider=test", "--node-deletion-crowd-nodes", "3"); !strings.HasSuffix(got, "\n"+want) {
		t.Errorf("got %s", got)
	}
}
