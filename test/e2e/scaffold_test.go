package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A newcomer writes a project with `fairlead new`, does what its README says,
// word by word, and has a cluster whose node is initialised by the provider
// that was written.
func TestNewcomersRun(t *testing.T) {
	skipWithoutPrograms(t)
	n := newNewcomer(t)
	blocks := n.blocks(t)
	if len(blocks) != 5 {
		t.Fatalf("the README has %d blocks of commands, want 5: build, cloud, cluster, daemon, look: %q", len(blocks), blocks)
	}
	build, cloud, cluster, daemon, look := blocks[0], blocks[1], blocks[2], blocks[3], blocks[4]

	if _, err := output(t.Context(), n.shell(build)...); err != nil {
		t.Fatal(err)
	}
	n.start(t, "simcloud: listening on", cloud+" --listen "+n.cloud)
	n.start(t, "Ready.", cluster)
	n.start(t, "", fmt.Sprintf("%s --bind-address 127.0.0.1 --secure-port %d", daemon, freePort(t)))

	admin, err := client(filepath.Join(n.dir, "bin/cluster/admin.kubeconfig"))
	if err != nil || !strings.Contains(look, "--kubeconfig bin/cluster/admin.kubeconfig describe node node-1") {
		t.Fatalf("the last command is %q, error %v", look, err)
	}
	await(t, 2*time.Minute, func(ctx context.Context) error {
		node, err := admin.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := initialized(node); err != nil {
			return err
		}
		var addresses []string
		for _, a := range node.Status.Addresses {
			addresses = append(addresses, string(a.Type)+"="+a.Address)
		}
		return differ("node", []string{"newcloud://sim-1/i-00000001", "sim-1a", "InternalIP=127.0.1.1"},
			[]string{node.Spec.ProviderID, node.Labels[corev1.LabelTopologyZone], addresses[0]})
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
	n := newcomer{dir: filepath.Join(t.TempDir(), "newcloud"), logs: t.TempDir(), cloud: "127.0.0.1:" + strconv.Itoa(freePort(t))}
	n.env = []string{"PATH=" + string(shared.programs) + ":" + os.Getenv("PATH"), "SIMCLOUD_SERVER=http://" + n.cloud}
	argv := []string{shared.programs.path("fairlead"), "new", "newcloud", "--module=example.com/newcloud", "--dir=" + n.dir, "--replace=" + checkout}
	if _, err := output(t.Context(), argv...); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(n.dir, "cloud-config.yaml")
	write(t, config, strings.ReplaceAll(string(read(t, config)), defaultCloud, n.cloud))
	return n
}

// blocks are the commands in the README, one text for each block.
func (n newcomer) blocks(t *testing.T) []string {
	t.Helper()
	parts := strings.Split(string(read(t, filepath.Join(n.dir, "README.md"))), "```")
	var blocks []string
	for _, part := range parts {
		if block, ok := strings.CutPrefix(part, "sh\n"); ok {
			blocks = append(blocks, strings.ReplaceAll(strings.TrimSpace(block), defaultCloud, n.cloud))
		}
	}
	return blocks
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
	c, err := startChild(n.logs, n.shell(strings.Join(lines, "\n"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("%s:\n%s", block, c.tail(40))
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for line := ""; !strings.HasPrefix(line, ready); {
		if line, err = c.line(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
