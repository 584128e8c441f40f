// Package bed is a test bed. It has a control plane, a simulated cloud, and a kubelet for
// each instance of the cloud. It can run daemons.
package bed

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
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
	"github.com/fairlead-k8s/fairlead/test/internal/rights"
)

// readyWithin is far above the time that a control plane takes on an idle machine. On a
// busy one, its programs may start twenty times slower.
const readyWithin = 10 * time.Minute

// Bed is a control plane with a kubelet for each instance of a cloud. It can run
// daemons.
type Bed struct {
	Config

	Dir     string // logs and configuration files
	Cloud   *Cloud // the cloud whose instances have kubelets
	Cluster Cluster
	Admin   kubernetes.Interface
	Guard   *guard
	// Environment has additional environment variables of the daemons, as NAME=VALUE.
	Environment []string

	sequence atomic.Int64  // makes names unique
	usual    rights.Access // the rights of the daemons in a test that gives them no others

	playground *process.Process
	stopGuard  func()
}

// Cluster is the JSON that the playground prints when it is ready.
type Cluster struct {
	Kubeconfig    string `json:"kubeconfig"`
	CCMKubeconfig string `json:"ccmKubeconfig"`
	Server        string `json:"server"`
	CAFile        string `json:"caFile"`
	AuditLog      string `json:"auditLog"`
	DataDir       string `json:"dataDir"`
}

// Programs are the programs under test.
type Programs struct {
	Dir     string // folder of the released programs
	TestCCM string // the daemon with the providers of these tests
}

// Path returns the path of a released program.
func (p Programs) Path(name string) string { return filepath.Join(p.Dir, name) }

// forProvider returns the path of the daemon that has this provider.
func (p Programs) forProvider(provider string) string {
	if provider != "" {
		return p.TestCCM
	}
	return p.Path("cloud-controller-manager")
}

// Config configures a Bed.
type Config struct {
	Programs Programs
	// Repository is the root of the source tree, which has the manifests.
	Repository string
	// Access is the path, in the repository, of the manifest with the rights of
	// the daemons; empty means the chart's manifest.
	Access string
	// Used records the rights that are used; nil records nothing.
	Used *rights.Usage
}

// New starts the control plane and the cloud. args are additional arguments of
// the playground. The caller must close the bed.
func New(ctx context.Context, c Config, args ...string) (b *Bed, err error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	b = &Bed{Config: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if b.Dir, err = os.MkdirTemp("", "fairlead-e2e-"); err != nil {
		return b, err
	}
	if err = b.installKubectl(); err != nil {
		return b, err
	}
	if b.Cloud, err = startCloud(ctx, c.Programs, b.Dir); err != nil {
		return b, err
	}
	b.playground, err = process.Start(b.Dir, slices.Concat([]string{
		c.Programs.Path("playground"), "up", "--output=json", "--audit-log", "--cloud=" + b.Cloud.URL,
		"--timeout=" + readyWithin.String(),
		"--cluster-cidr=10.128.0.0/9",                  // room for a thousand Nodes
		"--node-monitor-grace-period=1h",               // Nodes without kubelets stay as they are
		"--apiserver-arg=--max-requests-inflight=2000", // so that a test with many requests does not slow down others
	}, args)...)
	if err != nil {
		return b, err
	}
	line, err := b.playground.Line(ctx)
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal([]byte(line), &b.Cluster); err != nil {
		return b, fmt.Errorf("the playground says %q: %w", line, err)
	}
	if b.Admin, err = NewClient(b.Cluster.Kubeconfig); err != nil {
		return b, err
	}
	if err := b.giveRights(ctx); err != nil {
		return b, err
	}
	b.Guard = newGuard()
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var ended sync.WaitGroup
	ended.Go(func() { b.Guard.watch(watching, b.Admin) })
	b.stopGuard = func() { stop(); ended.Wait() }
	return b, nil
}

// Close ends everything that New has started.
func (b *Bed) Close() error {
	var errs []error
	if b.stopGuard != nil {
		b.stopGuard()
	}
	if b.playground != nil {
		errs = append(errs, b.playground.Stop())
	}
	if b.Cloud != nil {
		errs = append(errs, b.Cloud.Stop())
	}
	if b.Dir != "" {
		errs = append(errs, os.RemoveAll(b.Dir))
	}
	return errors.Join(errs...)
}

// Command runs a command of the playground on this bed.
func (b *Bed) Command(ctx context.Context, args ...string) (string, error) {
	argv := slices.Concat([]string{b.Programs.Path("playground")}, args, []string{"--data-dir", b.Cluster.DataDir})
	return Output(ctx, argv...)
}

// Running returns the names of the running processes of the playground.
func (b *Bed) Running(ctx context.Context) ([]string, error) {
	text, err := b.Command(ctx, "status", "--output=json")
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

// NewClient returns a client of the API server without a rate limit.
func NewClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.UserAgent = audit.TestAgent
	return kubernetes.NewForConfig(config)
}

// BuildTestCCM builds the daemon with the providers of these tests.
func BuildTestCCM(ctx context.Context, file string) error {
	const program = "github.com/fairlead-k8s/fairlead/test/internal/testccm"
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", file, program)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build testccm: %w\n%s", err, out)
	}
	return nil
}

// Output runs a program to its end, and returns the program's stdout.
func Output(ctx context.Context, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: %w", strings.Join(argv, " "), err), errors.New(stderr.String()))
	}
	return string(out), err
}

// Name returns a unique name that begins with base.
func (b *Bed) Name(base string) string { return fmt.Sprintf("%s-%d", base, b.sequence.Add(1)) }

// AuditLog reads the audit log for a test. If that fails, the test fails.
type AuditLog struct {
	t    *testing.T
	file audit.File
}

// Audit returns the audit log of the API server.
func (b *Bed) Audit(t *testing.T) AuditLog {
	t.Helper()
	return AuditLog{t, audit.File(b.Cluster.AuditLog)}
}

// Mark returns the end of the log.
func (l AuditLog) Mark() int64 {
	l.t.Helper()
	mark, err := l.file.End()
	if err != nil {
		l.t.Fatal(err)
	}
	return mark
}

// Since does the same as audit.File.Since.
func (l AuditLog) Since(mark int64) audit.Requests {
	l.t.Helper()
	all, err := l.file.Since(mark)
	if err != nil {
		l.t.Fatal(err)
	}
	return all
}
