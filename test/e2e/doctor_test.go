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

	"github.com/fairlead-k8s/fairlead/internal/doctor"
	"github.com/fairlead-k8s/fairlead/internal/manifest"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// doctorRole returns the ClusterRole in the guide.
func doctorRole(t *testing.T) string {
	t.Helper()
	_, text, _ := strings.Cut(string(bed.ReadFile(t, "../../docs/guides/doctor.md")), "```yaml\n")
	role, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("the guide has no role")
	}
	return role
}

// TestDoctor plants faults one after the other in one cluster. For each fault, the
// command "doctor" reports the code of this fault and no other code.
func TestDoctor(t *testing.T) {
	p := newPatient(t)
	for _, row := range faults {
		t.Run(row.name, func(t *testing.T) {
			p.lease(t, managerName, 0)
			row.plant(t, p)
			for _, f := range p.awaitCodes(t, row.want).Findings {
				p.fixRuns(t, f.Fix)
			}
		})
	}
	p.lease(t, managerName, 0)
	t.Run("HealthyCluster", func(t *testing.T) {
		r := p.awaitCodes(t)
		if len(r.Unknown) > 0 {
			t.Errorf("unknown: %+v", r.Unknown)
		}
	})
	t.Run("RightsToView", p.rightsToView)
	t.Run("RightsOfTheGuide", p.rightsOfTheGuide)
	t.Run("ExamplesOfTheHelp", p.examplesOfTheHelp)
	t.Run("ThousandNodes", p.thousandNodes)
}

// fixRuns runs the command that "doctor" suggests, with a real kubectl, but without
// changes to the cluster.
func (p *patient) fixRuns(t *testing.T, fix string) {
	t.Helper()
	command, _, _ := strings.Cut(fix, " #")
	words := strings.Fields(strings.NewReplacer("-n "+system+" ", "", "-n "+metav1.NamespaceDefault+" ", "").Replace(command))
	if words[0] != "kubectl" { // The command runs on another machine.
		return
	}
	switch words[1] {
	case "logs": // The Pods of this test have no kubelet.
		return
	case "delete", "label", "scale":
		command += " --dry-run=server"
	case "rollout": // It has no dry run.
		command = strings.Replace(command, "restart", "status --watch=false", 1)
	}
	if _, err := p.Shell(t.Context(), command); err != nil {
		t.Errorf("doctor proposes a command that fails: %v", err)
	}
}

// For a user with the role "view", "doctor" makes the checks for which the user has the
// rights. For the other checks, it names the missing right.
func (p *patient) rightsToView(t *testing.T) {
	kubeconfig := p.as(t, "viewer", "view")
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		r, code, err := p.examine(ctx, kubeconfig)
		if err != nil {
			return err
		}
		why := map[string]string{}
		for _, u := range r.Unknown {
			why[u.ID] = u.Why
		}
		return errors.Join(
			expect.Equal("code", 0, code), expect.Equal("findings", 0, len(r.Findings)),
			expect.Equal("FL201", "needs list nodes", why["FL201"]), expect.Equal("FL301", "needs list leases.coordination.k8s.io", why["FL301"]),
			expect.Equal("FL605 passes", true, slices.Contains(r.Passed, "FL605")),
		)
	})
}

// The role in the guide has exactly the rights that "doctor" uses.
func (p *patient) rightsOfTheGuide(t *testing.T) {
	objects, err := manifest.Objects(doctorRole(t))
	if err != nil {
		t.Fatal(err)
	}
	to, err := p.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	granted := map[string]bool{}
	for _, o := range objects {
		if err := to.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	role, err := p.Admin.RbacV1().ClusterRoles().Get(t.Context(), "fairlead-doctor", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				granted[verb+" "+resource] = true
			}
		}
	}
	p.service(t, func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }, withAddress)
	kubeconfig := p.as(t, "doctor", "fairlead-doctor")
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		mark := p.Audit(t).Mark()
		// Some of the rights are used only for a bundle.
		r, _, err := p.examine(ctx, kubeconfig, "--bundle="+filepath.Join(t.TempDir(), "doctor.tar.gz"))
		if err != nil {
			return err
		}
		used := map[string]bool{}
		for _, q := range ofDoctor(p.Audit(t).Since(mark)) {
			if q.Object.Resource != "" {
				used[q.What()] = true
			}
		}
		return errors.Join(expect.Equal("unknown", 0, len(r.Unknown)), expect.Equal("rights", granted, used))
	})
}

func ofDoctor(all audit.Requests) audit.Requests {
	return all.Where(func(q audit.Request) bool { return strings.HasSuffix(q.UserAgent, "fairlead-doctor") })
}

// Each example in the help text runs.
func (p *patient) examplesOfTheHelp(t *testing.T) {
	p.initialised(t, func(node *corev1.Node) { node.Name = "worker-9" })
	p.lease(t, managerName, 0)
	for line := range strings.Lines(doctor.New().Example) {
		args := strings.Fields(line)
		if err := p.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), p.Programs.Path("fairlead"), args[1:]...)
		command.Dir, command.Env = t.TempDir(), append(os.Environ(), "KUBECONFIG="+p.Cluster.Kubeconfig)
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", strings.TrimSpace(line), err, out)
		}
	}
}

// In a healthy cluster of 1,000 Nodes, the program makes few requests, writes
// nothing, and finds no fault.
func (p *patient) thousandNodes(t *testing.T) {
	for n := range 1000 {
		node := nodes.NewInitialized(simulator.Instance{ID: strconv.Itoa(n), Name: fmt.Sprintf("many-%d", n), Type: "sim.small", Region: "r", Zone: "r-a"})
		node.Spec.PodCIDR = fmt.Sprintf("10.%d.%d.0/24", 130+n/250, n%250)
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
		node.Labels["many"] = ""
		if _, err := p.Admin.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	p.lease(t, managerName, 0)
	file := filepath.Join(t.TempDir(), "out.tar.gz")
	mark, began := p.Audit(t).Mark(), time.Now()
	command := exec.CommandContext(t.Context(), p.Programs.Path("fairlead"), "doctor", "--kubeconfig="+p.Cluster.Kubeconfig, "--older-than=0s", "--bundle="+file)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	requests := ofDoctor(p.Audit(t).Since(mark))
	t.Logf("%d requests in %v\n%s", len(requests), time.Since(began).Round(time.Millisecond), out)
	if len(requests) == 0 || len(requests) > 150 {
		t.Errorf("%d requests, want at most 150", len(requests))
	}
	for _, w := range requests.Writes() {
		if w.Object.Resource != "subjectaccessreviews" {
			t.Errorf("doctor has written: %s", w)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the bundle: %v, error %v", info, err)
	}
}
