package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
)

// A newcomer writes a project with `fairlead new` and follows its README word
// by word. The result is a cluster whose node is initialised by the new
// provider. Then the commands of the tutorial break the cloud and repair it.
func TestNewcomersRun(t *testing.T) {
	skipWithoutPrograms(t)
	n := newNewcomer(t)
	readme := n.blocks(t, filepath.Join(n.dir, "README.md"), "```sh\n")
	if len(readme) != 5 {
		t.Fatalf("the README has %d blocks of commands, want 5: build, cloud, cluster, daemon, look: %q", len(readme), readme)
	}
	build, cloud, cluster, run, look := readme[0], readme[1], readme[2], readme[3], readme[4]
	tutorial := n.blocks(t, "../../docs/tutorials/write-a-provider.md", "<!-- test/e2e -->\n```sh\n")
	if len(tutorial) != 2 {
		t.Fatalf("the tutorial has %d blocks of commands that are for this test, want 2: break, mend: %q", len(tutorial), tutorial)
	}

	n.do(t, build)
	n.start(t, "simcloud: listening on", cloud+" --listen "+n.cloud)
	n.start(t, "Ready.", cluster)
	n.start(t, "", fmt.Sprintf("%s --bind-address 127.0.0.1 --secure-port %d", run, daemon.FreePort(t)))

	admin, err := bed.NewClient(filepath.Join(n.dir, "bin/cluster/admin.kubeconfig"))
	if err != nil || !strings.Contains(look, "--kubeconfig bin/cluster/admin.kubeconfig describe node node-1") {
		t.Fatalf("the last command is %q, error %v", look, err)
	}
	b := &bed.Bed{Admin: admin}
	awaitInitialized(t, b, "node-1", "i-00000001", "127.0.1.1")

	n.do(t, tutorial[0])
	b.AwaitEvent(t, "node-2", 2*time.Minute, "Warning CloudInitFailed: CloudDenied")
	n.do(t, tutorial[1])
	awaitInitialized(t, b, "node-2", "i-00000002", "127.0.1.2")
}

func awaitInitialized(t *testing.T, b *bed.Bed, name, id, address string) {
	t.Helper()
	b.AwaitNode(t, name, 2*time.Minute, func(node *corev1.Node) error {
		if err := nodes.Initialized(node); err != nil {
			return err
		}
		return errors.Join(
			expect.Equal("provider ID", "newcloud://sim-1/"+id, node.Spec.ProviderID),
			expect.Equal("zone", "sim-1a", node.Labels[corev1.LabelTopologyZone]),
			expect.Equal("addresses", nodes.Addresses("InternalIP="+address, "Hostname="+name), node.Status.Addresses),
		)
	})
}

// newcomer is somebody at a shell in a new project.
type newcomer struct {
	dir   string // of the project
	logs  string
	cloud string // address of the cloud, where the README has the default
	env   []string
}

const defaultCloud = "127.0.0.1:7640"

func newNewcomer(t *testing.T) newcomer {
	t.Helper()
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	n := newcomer{dir: filepath.Join(t.TempDir(), "newcloud"), logs: t.TempDir(), cloud: "127.0.0.1:" + strconv.Itoa(daemon.FreePort(t))}
	n.env = []string{"PATH=" + shared.Programs.Dir + ":" + os.Getenv("PATH"), "SIMCLOUD_SERVER=http://" + n.cloud}
	argv := []string{shared.Programs.Path("fairlead"), "new", "newcloud", "--module=example.com/newcloud", "--dir=" + n.dir, "--replace=" + checkout}
	if _, err := bed.Output(t.Context(), argv...); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(n.dir, "cloud-config.yaml")
	bed.WriteFile(t, config, strings.ReplaceAll(string(bed.ReadFile(t, config)), defaultCloud, n.cloud))
	return n
}

// blocks are the commands in a page, one text for each block that begins so.
func (n newcomer) blocks(t *testing.T, page, begin string) []string {
	t.Helper()
	var blocks []string
	for _, part := range strings.Split(string(bed.ReadFile(t, page)), begin)[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		blocks = append(blocks, strings.ReplaceAll(block, defaultCloud, n.cloud))
	}
	return blocks
}

// do runs a block to its end.
func (n newcomer) do(t *testing.T, block string) {
	t.Helper()
	if out, err := bed.Output(t.Context(), n.shell(block)...); err != nil {
		t.Fatalf("%s%v", out, err)
	}
}

// shell runs commands in the project's folder.
func (n newcomer) shell(block string) []string {
	return slices.Concat([]string{"env", "--chdir=" + n.dir}, n.env, []string{"bash", "-ec", block})
}

// start runs a block in a terminal of its own until the test ends, and waits
// until it prints a line that starts so. Its last command takes the shell's
// place, so that a signal reaches it.
func (n newcomer) start(t *testing.T, ready, block string) {
	t.Helper()
	lines := strings.Split(block, "\n")
	lines[len(lines)-1] = "exec " + lines[len(lines)-1]
	c, err := process.Start(n.logs, n.shell(strings.Join(lines, "\n"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("%s:\n%s", block, c.Tail(40))
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for line := ""; !strings.HasPrefix(line, ready); {
		if line, err = c.Line(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
