package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
	"github.com/fairlead-k8s/fairlead/test/internal/rights"
)

// shadowName is the program name of the daemon with --shadow, which decides but changes
// nothing. The tests find the daemon's requests in the audit log by this name.
const shadowName = "shadow"

// runSkeleton runs the community's skeleton with the cloud of the pool, as the admin.
func runSkeleton(t *testing.T, p *nodepool.Pool) *process.Process {
	t.Helper()
	program := p.Programs.Path("scale/upstream")
	if _, err := os.Stat(program); err != nil {
		t.Skip("the skeleton is not built: make bin/scale/upstream")
	}
	config := bed.WriteFile(t, filepath.Join(t.TempDir(), "cloud.yaml"), daemon.Setup{Cloud: p.Cloud.URL}.Config(p.Cloud.URL))
	skeleton, err := process.Start(p.Dir, program, "--cloud-provider=simulated", "--cloud-config="+config, "--kubeconfig="+p.Cluster.Kubeconfig,
		"--authentication-kubeconfig="+p.Cluster.Kubeconfig, "--authorization-kubeconfig="+p.Cluster.Kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(daemon.FreePort(t)), "--configure-cloud-routes=false", "--node-monitor-period=1s",
		"--leader-elect-lease-duration=2m", "--leader-elect-renew-deadline=1m") // It must not lose its lease on a busy machine.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(skeleton.Kill)
	return skeleton
}

// The skeleton leads, and a daemon with --shadow runs at the same time. The cloud
// answers 404 for a while. The skeleton deletes the silent Nodes at once, and the
// shadow's report names each of them. The shadow has written nothing, not even a
// lease, and has changed nothing in the cloud.
func TestShadowBesideTheSkeleton(t *testing.T) {
	const size, silent = 8, 3
	p := nodepool.New(t, onOwn(t), size)
	skeleton := runSkeleton(t, p)
	expect.Within(t, 2*expect.Soon, func(ctx context.Context) error {
		lease, err := p.Admin.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, daemon.LeaseName, metav1.GetOptions{})
		if err == nil && lease.Spec.HolderIdentity == nil {
			err = fmt.Errorf("nobody holds the lease; %w", skeleton.Err())
		}
		return err
	})
	mark, changed := p.Audit(t).Mark(), cloudChanged(t, p.Cloud)
	d := p.Runs(t, daemon.Setup{As: shadowName, Elect: true, Flags: nodepool.Quickly("--shadow")})
	awaitMetric(t, p.Bed, d, fmt.Sprintf(`fairlead_shadow_objects{controller=%q} %d`, nodepool.Source, size))

	p.Cloud.Fail(t, simulator.Fault{Name: "wrong", Kind: simulator.FaultNotFound})
	victims := p.Members[:silent]
	p.Silence(t, victims...)
	var names []string
	for _, m := range victims {
		m.Handled = true // The skeleton deletes it, wrongly.
		names = append(names, "node/"+m.Name)
		awaitNodeGone(t, p.Bed, m.Name)
	}
	for _, m := range victims {
		d.AwaitLogged(t, "Another fate", `"node/`+m.Name+`"`, "deleted")
	}
	p.Cloud.Heal(t)
	awaitMetric(t, p.Bed, d, fmt.Sprintf(`fairlead_shadow_differences{what="deleted"} %d`, silent))

	d.Signal(syscall.SIGTERM)
	deleted := reportedDeleted(t, d)
	slices.Sort(deleted)
	if err := expect.Equal("Nodes in the report", names, deleted); err != nil {
		t.Error(err)
	}
	theirs := p.Audit(t).Since(mark).Where(func(r audit.Request) bool { return strings.HasPrefix(r.UserAgent, shadowName+"/") })
	if len(theirs) == 0 {
		t.Error("the audit log has no request of the daemon that looks")
	}
	if writes := theirs.Where(func(r audit.Request) bool { return r.Writes() && !strings.HasSuffix(r.Object.Resource, "reviews") }); len(writes) > 0 {
		t.Errorf("the daemon that only looks has written: %v", writes)
	}
	if now := cloudChanged(t, p.Cloud); now != changed {
		t.Errorf("%d calls have changed the cloud", now-changed)
	}
	for _, m := range p.Members[silent:] {
		if p.Node(t, m.Name).Status.Conditions[0].Status != corev1.ConditionTrue {
			t.Errorf("node %s is not as it was", m.Name)
		}
	}
}

// A shadow lists all kinds of objects. With the rights that the chart gives it, none of
// its requests is refused. It uses each right to read except one: the right to read the
// Secret of a provider.
func TestRightsOfAShadow(t *testing.T) {
	const size = 2
	b := onOwn(t)
	b.Environment = []string{"KUBE_FEATURE_WatchListClient=false"} // It lists, as with an older API server.
	all, err := b.AccessIn("charts/fairlead/ci/shadow.golden.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b.UseRights(t, all)
	p, mark := nodepool.New(t, b, size), b.Audit(t).Mark()
	d := p.Runs(t, daemon.Setup{Flags: nodepool.Quickly("--shadow", "--service-backends=endpoints", labelsVolumes+",kubelet-serving-csr-controller")})
	awaitMetric(t, b, d, fmt.Sprintf(`fairlead_shadow_objects{controller=%q} %d`, nodepool.Source, size))
	p.Terminate(t, p.Members[0])
	p.Silence(t, p.Members[0])
	served{Bed: b, cloud: p.Cloud, daemon: d}.asks(t, p.Members[1].Name, forgery{})
	awaitMetric(t, b, d, fmt.Sprintf(`fairlead_shadow_actions_total{action="delete",controller=%q} 1`, nodepool.Source))
	awaitMetric(t, b, d, `fairlead_shadow_actions_total{action="update",controller="kubelet-serving-csr-controller"} 1`)
	if err := d.Stop(); err != nil { // The audit log shows a watch only when it has ended.
		t.Error(err)
	}
	toRead := slices.DeleteFunc(all.Rights(), func(r rights.Right) bool {
		reads := slices.ContainsFunc([]string{"get ", "list ", "watch "}, func(verb string) bool { return strings.HasPrefix(r.String(), verb) })
		return !reads || r.String() == "get secrets mycloud"
	})
	var requests audit.Requests
	expect.Within(t, expect.Soon, func(context.Context) error { // The API server notices the end of a watch a little later.
		requests = b.Audit(t).Since(mark)
		return unused(toRead, requests.OfDaemons())
	})
	nothingRefused(t, requests)
	if writes := requests.OfDaemons().Where(func(r audit.Request) bool { return r.Writes() && !strings.HasSuffix(r.Object.Resource, "reviews") }); len(writes) > 0 {
		t.Errorf("the daemon that only looks has written: %v", writes)
	}
}

// awaitMetric waits until the metrics of a daemon have this line.
func awaitMetric(t *testing.T, b *bed.Bed, d *daemon.Daemon, line string) {
	t.Helper()
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		metrics, err := b.Metrics(ctx, d)
		if err == nil && !slices.Contains(metrics, line) {
			err = fmt.Errorf("the metrics lack %s", line)
		}
		return err
	})
}

// reportedDeleted reads the report that the daemon prints at its end. It returns the
// objects that were deleted although this daemon would have kept them.
func reportedDeleted(t *testing.T, d *daemon.Daemon) (objects []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*expect.Soon)
	defer cancel()
	line, err := d.Line(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Differences []struct {
			What     string
			Decision struct{ Object, Effect string }
		}
		Refused []string
	}
	if err := json.Unmarshal([]byte(line), &report); err != nil {
		t.Fatalf("the report is %q: %v", line, err)
	}
	if len(report.Refused) > 0 {
		t.Errorf("refused: %q", report.Refused)
	}
	for _, r := range report.Differences {
		if r.What == "deleted" {
			objects = append(objects, r.Decision.Object)
		}
	}
	return objects
}
