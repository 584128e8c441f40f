package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
)

// The conformance suite is killed while it has a load balancer and machines in the
// cloud. "conformance cleanup" then deletes these, and nothing else. No cluster is
// needed.
func TestConformanceIsCleanedUpAfterAKill(t *testing.T) {
	skipWithoutPrograms(t)
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	dir := t.TempDir()
	url := slowCloud(ctx, t, dir)
	operator := simulator.NewClient(url).Operator()
	if _, err := operator.CreateInstance(ctx, simulator.Instance{Name: "theirs"}); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.CreateLoadBalancer(ctx, simulator.LoadBalancer{
		Name: "theirs", Listeners: []simulator.Listener{{Protocol: "TCP", Port: 80, BackendPort: 30080}}, Backends: []string{},
	}); err != nil {
		t.Fatal(err)
	}
	before := contentsOf(ctx, t, operator)
	world, config := filepath.Join(dir, "world"), filepath.Join(dir, "cloud.yaml")
	for path, text := range map[string]string{
		world:  fmt.Sprintf("#!/bin/sh\nSIMCLOUD_SERVER=%s exec %s world \"$@\"\n", url, program(t, "simcloud")),
		config: "endpoint: " + url + "\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	usual := []string{"--cloud-provider=simulated", "--cloud-config=" + config, "--world=" + world, "--ledger=" + filepath.Join(dir, "made.jsonl")}
	runUntilItCreates(t, dir, operator, append([]string{program(t, "cloud-controller-manager"), "conformance", "--allow-writes", "--profile=loadbalancers"}, usual...))
	if left := contentsOf(ctx, t, operator); len(left.balancers) == len(before.balancers) || len(left.machines) == len(before.machines) {
		t.Fatalf("nothing was left by the kill: %v", left)
	}
	for range 2 { // The command may be repeated.
		out, err := exec.CommandContext(ctx, program(t, "cloud-controller-manager"), append([]string{"conformance", "cleanup"}, usual...)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Nothing is left.") {
			t.Fatalf("cleanup: %v\n%s", err, out)
		}
		after := contentsOf(ctx, t, operator)
		if d := cmp.Diff(before, after, cmp.AllowUnexported(contents{})); d != "" {
			t.Errorf("the account (-before +after):\n%s\n%s", d, out)
		}
	}
}

// runUntilItCreates runs the suite, and kills it when it has created a load balancer. The
// cloud does not carry out deletions in the meantime, even if the suite is faster than the
// test. So the load balancer and its machines are left.
func runUntilItCreates(t *testing.T, dir string, operator *simulator.Client, argv []string) {
	t.Helper()
	before := len(contentsOf(t.Context(), t, operator).balancers)
	held := simulator.Fault{Name: "held", Kind: simulator.FaultHang, Calls: []simulator.Call{simulator.DeleteLoadBalancer}}
	if err := operator.SetFault(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	suite, err := process.Start(dir, argv...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(suite.Kill)
	expect.Within(t, 2*time.Minute, func(ctx context.Context) error {
		if len(contentsOf(ctx, t, operator).balancers) == before {
			return errors.Join(errors.New("no load balancer was created"), suite.Err())
		}
		return nil
	})
	suite.Kill()
	expect.Within(t, expect.Soon, func(ctx context.Context) error { // The cloud must not carry out a deletion when the fault is cleared.
		faults, err := operator.Faults(ctx)
		if err != nil {
			return err
		}
		report, err := operator.Calls(ctx)
		for _, f := range faults {
			if f.Name == held.Name && err == nil && report.Count(simulator.DeleteLoadBalancer) < int64(f.Hits) {
				return errors.New("the cloud has not noticed that its caller is gone")
			}
		}
		return err
	})
	if err := operator.ClearFault(t.Context(), held.Name); err != nil {
		t.Fatal(err)
	}
}

// program returns the path of a program that was built for the tests.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(os.Getenv("FAIRLEAD_BIN"), name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// slowCloud serves a cloud that delays each call, and returns its URL.
func slowCloud(ctx context.Context, t *testing.T, dir string) string {
	t.Helper()
	cloud, err := process.Start(dir, program(t, "simcloud"), "serve", "--listen", "127.0.0.1:0", "--latency", "100ms", "--traffic=false")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Kill)
	line, err := cloud.Line(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, url, _ := strings.Cut(line, "listening on ")
	return url
}

// contents has the IDs and names of the instances, load balancers and routes in a
// cloud.
type contents struct{ machines, balancers, routes []string }

func contentsOf(ctx context.Context, t *testing.T, operator *simulator.Client) (a contents) {
	t.Helper()
	machines, err := operator.Instances(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range machines {
		a.machines = append(a.machines, m.ID+" "+m.Name)
	}
	balancers, err := operator.LoadBalancers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range balancers {
		a.balancers = append(a.balancers, l.ID+" "+l.Name)
	}
	routes, err := operator.Routes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range routes {
		a.routes = append(a.routes, r.ID+" "+r.Name)
	}
	for _, all := range [][]string{a.machines, a.balancers, a.routes} {
		slices.Sort(all)
	}
	return a
}
