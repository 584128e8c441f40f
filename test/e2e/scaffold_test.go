package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
	"github.com/fairlead-k8s/fairlead/test/internal/tutorial"
)

// A newcomer writes a project with `fairlead new` and runs the commands of its
// README. The result is a cluster whose node is initialised by the new
// provider. Then the commands of the tutorial break the cloud and repair it, and the
// next tutorial gives the provider load balancers and routes.
func TestNewcomersRun(t *testing.T) {
	skipWithoutPrograms(t)
	t.Parallel()
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
	n.start(t, "Ready.", cluster+" --timeout "+startsWithin.String())
	stop := n.run(t, run)

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
	n.balance(t, b, func() { stop(); n.run(t, run) })
}

// balance follows the tutorial about load balancers and routes. It puts the tutorial's
// code into the project, and runs the tutorial's commands. Then the conformance suite
// passes, and a Service gets its load balancer.
func (n newcomer) balance(t *testing.T, b *bed.Bed, restart func()) {
	t.Helper()
	const page = "../../docs/tutorials/load-balancers-and-routes.md"
	commands := n.blocks(t, page, "<!-- test/e2e -->\n```sh\n")
	if len(commands) != 4 {
		t.Fatalf("the tutorial has %d blocks of commands for this test, want 4: build, create, look, delete: %q", len(commands), commands)
	}
	build, create, look, remove := commands[0], commands[1], commands[2], commands[3]
	n.change(t, page)
	n.do(t, build)
	restart()

	if _, err := exec.LookPath("kubectl"); err == nil {
		n.do(t, create)
		var address string
		expect.Within(t, 2*time.Minute, func(ctx context.Context) error {
			service, err := b.Admin.CoreV1().Services("default").Get(ctx, "web", metav1.GetOptions{})
			if err == nil && len(service.Status.LoadBalancer.Ingress) == 0 {
				return errors.New("the Service has no address")
			}
			if err == nil {
				address = service.Status.LoadBalancer.Ingress[0].IP
			}
			return err
		})
		if out := n.do(t, look); strings.Count(out, address) != 2 {
			t.Errorf("want the address %s in both tables:\n%s", address, out)
		}
		if out := n.do(t, remove); !strings.Contains(out, "No load balancers.") {
			t.Errorf("want no load balancer:\n%s", out)
		}
	}
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

// newcomer runs commands in a new project, as a vendor would in a shell.
type newcomer struct {
	dir   string // of the project
	logs  string
	cloud string // address of the cloud, in place of the default in the README
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

// blocks returns the code blocks of a page. It leaves out blocks that do not begin with this text.
func (n newcomer) blocks(t *testing.T, page, begin string) []string {
	t.Helper()
	var blocks []string
	for _, part := range strings.Split(string(bed.ReadFile(t, page)), begin)[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		blocks = append(blocks, strings.ReplaceAll(block, defaultCloud, n.cloud))
	}
	return blocks
}

// do runs a block to its end, and returns the block's output.
func (n newcomer) do(t *testing.T, block string) string {
	t.Helper()
	out, err := bed.Output(t.Context(), n.shell(block)...)
	if err != nil {
		t.Fatalf("%s%v", out, err)
	}
	return out
}

// change applies the changes of a tutorial page to the project.
func (n newcomer) change(t *testing.T, page string) {
	t.Helper()
	blocks, err := tutorial.Blocks(strings.ReplaceAll(string(bed.ReadFile(t, page)), "acme", "newcloud"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, block := range blocks {
		if text, err := os.ReadFile(filepath.Join(n.dir, block.File)); err == nil {
			files[block.File] = string(text)
		}
	}
	if err := tutorial.Apply(files, blocks); err != nil {
		t.Fatal(err)
	}
	for file, text := range files {
		bed.WriteFile(t, filepath.Join(n.dir, file), text)
	}
}

// run starts the daemon. The returned function stops it.
func (n newcomer) run(t *testing.T, command string) (stop func()) {
	t.Helper()
	return n.start(t, "", fmt.Sprintf("%s --bind-address 127.0.0.1 --secure-port %d", command, daemon.FreePort(t)))
}

// shell returns a command line that runs the block in the project's folder.
func (n newcomer) shell(block string) []string {
	return slices.Concat([]string{"env", "--chdir=" + n.dir}, n.env, []string{"bash", "-ec", block})
}

// startsWithin is far above the time that a program takes on an idle machine.
const startsWithin = 10 * time.Minute

// start runs a block in a shell of its own until the test ends. It waits until the block
// writes a line that begins with the text ready. The last command of the block replaces
// the shell, so that a signal reaches the command. The returned function ends the command
// earlier.
func (n newcomer) start(t *testing.T, ready, block string) (stop func()) {
	t.Helper()
	lines := strings.Split(block, "\n")
	lines[len(lines)-1] = "exec " + lines[len(lines)-1]
	c, err := process.Start(n.logs, n.shell(strings.Join(lines, "\n"))...)
	if err != nil {
		t.Fatal(err)
	}
	stop = func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("%s:\n%s", block, c.Tail(40))
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), startsWithin)
	defer cancel()
	for line := ""; !strings.HasPrefix(line, ready); {
		if line, err = c.Line(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return stop
}
