package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
)

const readyWithin = 3 * time.Minute

// bed is a control plane whose kubelets follow a cloud, and what is needed to
// run daemons on it.
type bed struct {
	programs programs
	dir      string // logs and configuration files
	cloud    *cloud // the one that the kubelets follow
	cluster  cluster
	admin    kubernetes.Interface
	guard    *guard
	sequence atomic.Int64 // makes names unique
	access   access       // what the daemons may do, if their test does not say otherwise

	playground *process.Process
	stopGuard  func()
}

// cluster is what the playground says when it is ready.
type cluster struct {
	Kubeconfig    string `json:"kubeconfig"`
	CCMKubeconfig string `json:"ccmKubeconfig"`
	Server        string `json:"server"`
	CAFile        string `json:"caFile"`
	AuditLog      string `json:"auditLog"`
	DataDir       string `json:"dataDir"`
}

// programs is the folder with the programs under test.
type programs string

func (p programs) path(name string) string { return filepath.Join(string(p), name) }

// newBed brings all up; args are further ones for the playground. The bed must
// be closed.
func newBed(ctx context.Context, p programs, args ...string) (b *bed, err error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	b = &bed{programs: p}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if b.dir, err = os.MkdirTemp("", "fairlead-e2e-"); err != nil {
		return b, err
	}
	if b.cloud, err = startCloud(ctx, p, b.dir); err != nil {
		return b, err
	}
	b.playground, err = process.Start(b.dir, slices.Concat([]string{
		p.path("playground"), "up", "--output=json", "--audit-log", "--cloud=" + b.cloud.url,
		"--cluster-cidr=10.128.0.0/9",                  // room for a thousand Nodes
		"--node-monitor-grace-period=1h",               // Nodes without kubelets stay as they are
		"--apiserver-arg=--max-requests-inflight=2000", // so that no test is slowed down by another's storm
	}, args)...)
	if err != nil {
		return b, err
	}
	line, err := b.playground.Line(ctx)
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal([]byte(line), &b.cluster); err != nil {
		return b, fmt.Errorf("the playground says %q: %w", line, err)
	}
	if b.admin, err = client(b.cluster.Kubeconfig); err != nil {
		return b, err
	}
	if err := b.giveRights(ctx, os.Getenv("FAIRLEAD_RIGHTS")); err != nil {
		return b, err
	}
	b.guard = newGuard()
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var ended sync.WaitGroup
	ended.Go(func() { b.guard.watch(watching, b.admin) })
	b.stopGuard = func() { stop(); ended.Wait() }
	return b, nil
}

// close ends what newBed has begun.
func (b *bed) close() error {
	var errs []error
	if b.stopGuard != nil {
		b.stopGuard()
	}
	if b.playground != nil {
		errs = append(errs, b.playground.Stop())
	}
	if b.cloud != nil {
		errs = append(errs, b.cloud.Stop())
	}
	if b.dir != "" {
		errs = append(errs, os.RemoveAll(b.dir))
	}
	return errors.Join(errs...)
}

// command runs a command of the playground on this bed.
func (b *bed) command(ctx context.Context, args ...string) (string, error) {
	argv := slices.Concat([]string{b.programs.path("playground")}, args, []string{"--data-dir", b.cluster.DataDir})
	return output(ctx, argv...)
}

// running are the names of the playground's processes that run.
func (b *bed) running(ctx context.Context) ([]string, error) {
	text, err := b.command(ctx, "status", "--output=json")
	if err != nil {
		return nil, err
	}
	var children []struct {
		Name string `json:"name"`
		PID  int    `json:"pid"`
	}
	if err := json.Unmarshal([]byte(text), &children); err != nil {
		return nil, fmt.Errorf("the playground says %q: %w", text, err)
	}
	var names []string
	for _, c := range children {
		if c.PID != 0 {
			names = append(names, c.Name)
		}
	}
	return names, nil
}

// client speaks to the API server without a throttle.
func client(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.UserAgent = testAgent
	return kubernetes.NewForConfig(config)
}

// cloud is a simulated cloud in a process of its own.
type cloud struct {
	*simulator.Client // as operator: meets no faults and is not counted

	*process.Process
	url string
}

func startCloud(ctx context.Context, p programs, dir string, flags ...string) (*cloud, error) {
	argv := append([]string{p.path("simcloud"), "serve", "--listen=127.0.0.1:0", "--seed=1", "--verbosity=4"}, flags...)
	c, err := process.Start(dir, argv...)
	if err != nil {
		return nil, err
	}
	line, err := c.Line(ctx)
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	const ready = "simcloud: listening on "
	url, ok := strings.CutPrefix(line, ready)
	if !ok {
		return nil, errors.Join(fmt.Errorf("simcloud says %q, want %q and a URL", line, ready), c.Stop())
	}
	return &cloud{Client: simulator.NewClient(url).Operator(), Process: c, url: url}, nil
}

// buildTestCCM builds the daemon with the providers of these tests.
func buildTestCCM(ctx context.Context, file string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", file, "./testccm")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build testccm: %w\n%s", err, out)
	}
	return nil
}

// output runs a program to its end.
func output(ctx context.Context, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: %w", strings.Join(argv, " "), err), errors.New(stderr.String()))
	}
	return string(out), err
}
