package cluster

import (
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/playground/internal/supervisor"
)

func TestRunningNodesAreThoseWithAKubelet(t *testing.T) {
	children := supervisor.New(t.TempDir(), func(err error) { t.Error(err) })
	defer children.Close()
	c := New(Config{DataDir: t.TempDir()}, children)
	for _, name := range []string{"etcd", "kubelet-a", "kubelet-b", "kubelet-c"} {
		if err := children.Start(supervisor.Spec{Name: name, Command: []string{"/bin/sleep", "600"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := children.Stop(t.Context(), "kubelet-a", syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := c.KillNode(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c"}, c.RunningNodes()); diff != "" {
		t.Error(diff)
	}
}
