package e2e

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/podnetwork"
)

// cloudChanges lists the calls to the simulated cloud that change something.
var cloudChanges = []simulator.Call{
	simulator.CreateLoadBalancer, simulator.UpdateLoadBalancer, simulator.DeleteLoadBalancer, simulator.SetBackends,
	simulator.CreateRoute, simulator.DeleteRoute, simulator.ChangeRoutes,
	simulator.CreateInstance, simulator.UpdateInstance, simulator.StartInstance, simulator.StopInstance, simulator.TerminateInstance,
	simulator.CreateStaticIP, simulator.ReleaseStaticIP, simulator.CreateVolume, simulator.DeleteVolume,
}

// planned is a cluster in which much has changed since its daemon ended. When the
// daemon ended, it had nothing left to do.
type planned struct {
	*bed.Bed
	*nodepool.Pool
	lbservice.Services

	network *podnetwork.Network
	setup   daemon.Setup
	names   map[string]string // names of objects, by a word for the object's change
}

// newPlanned returns a cluster with a hundred Nodes and twenty Services.
func newPlanned(t *testing.T) *planned {
	t.Helper()
	const size, balanced = 100, 20
	b := onOwn(t)
	p := &planned{Bed: b, Pool: nodepool.New(t, b, size), names: map[string]string{}}
	p.Services = lbservice.Services{Bed: b, Cloud: p.Pool.Cloud}
	p.network = &podnetwork.Network{Bed: b, Cloud: p.Pool.Cloud}
	p.setup = p.network.Setup(daemon.Setup{Flags: nodepool.Quickly("--node-status-update-frequency=5s")})
	var services []string
	for range balanced {
		services = append(services, p.Balanced(t, "served"))
	}
	d := p.Pool.Runs(t, p.setup)
	for _, name := range services {
		p.AwaitService(t, name, 4*expect.Soon, lbservice.Showing(lbservice.ConditionProvisioning, metav1.ConditionFalse, "Provisioned"))
	}
	podnetwork.AwaitTable(t, 4*expect.Soon, p.network)
	p.network.AwaitReachable(t, 4*expect.Soon)
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	p.changeNodes(t)
	p.changeServices(t, services)
	return p
}

// changeNodes brings Nodes into many states.
func (p *planned) changeNodes(t *testing.T) {
	t.Helper()
	member := func(n int, what string) *nodepool.Member {
		p.names[what] = "node/" + p.Members[n].Name
		return p.Members[n]
	}
	gone := member(0, "gone")
	p.Terminate(t, gone)
	stopped := member(10, "stopped")
	if err := p.Pool.Cloud.StopInstance(t.Context(), stopped.Instance.ID); err != nil {
		t.Fatal(err)
	}
	p.Silence(t, gone, stopped, member(20, "silent"))
	p.Pool.Cloud.Change(t, member(30, "resized").Instance, simulator.InstancePatch{Type: new("sim.large")})
	p.Pool.Cloud.Change(t, member(40, "moved").Instance, simulator.InstancePatch{Addresses: nodes.CloudAddresses("InternalIP=10.9.9.9")})
	p.Pool.Cloud.Change(t, member(50, "excluded").Instance, simulator.InstancePatch{Type: new("sim.large")})
	p.Patch(t, p.Members[50].Name, `{"metadata":{"labels":{"fairlead.dev/exclude":"true"}}}`)
	p.ByHand(t, member(60, "deleted"))
	p.Members = slices.Delete(p.Members, 60, 61)

	_, fresh := p.Pair(t, p.Pool.Cloud, simulator.Instance{Name: p.Name("new")})
	unknown := p.Register(t, nodes.New(p.Name("unknown")))
	foreign := nodes.New(p.Name("foreign"))
	foreign.Spec = corev1.NodeSpec{ProviderID: "k3s://" + foreign.Name}
	p.Register(t, foreign)
	p.names["new"], p.names["unknown"], p.names["foreign"] = "node/"+fresh.Name, "node/"+unknown.Name, "node/"+foreign.Name
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		_, err := podnetwork.NodesWithCIDRs(ctx, p.Bed)
		return err
	})
}

// changeServices brings Services into many states.
func (p *planned) changeServices(t *testing.T, services []string) {
	t.Helper()
	key := func(name, what string) string {
		p.names[what] = "service/" + metav1.NamespaceDefault + "/" + name
		return name
	}
	p.Delete(t, key(services[0], "deletedService"))
	p.Edit(t, key(services[1], "internalService"), `{"spec":{"type":"ClusterIP"}}`)
	p.Edit(t, key(services[2], "editedService"), `{"metadata":{"annotations":{"a":"b"}}}`)
	key(services[3], "servedService")
	key(p.Balanced(t, "new"), "newService")
	key(p.Balanced(t, "other", func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("example.com/other") }), "otherService")
}

// cloudChanged returns the number of calls to the cloud that change something.
func cloudChanged(t *testing.T, c *bed.Cloud) int64 {
	t.Helper()
	report, err := c.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report.Count(cloudChanges...)
}

// For each object, the daemon does what the sub-command "plan" has predicted. The
// sub-command itself writes nothing to the cluster, and changes nothing in the cloud.
func TestPlanSaysWhatTheDaemonDoes(t *testing.T) {
	p := newPlanned(t)
	mark, changed := p.Audit(t).Mark(), cloudChanged(t, p.Pool.Cloud)
	routes := routesOf(t.Context(), t, p.Pool.Cloud)

	said, code := p.foresee(t, "15s")
	if !p.isComplete(said) {
		said, code = p.foresee(t, "2m") // A busy machine takes longer to gather the evidence.
	}
	if code != 2 || len(said.Refused) > 0 {
		t.Errorf("exit code %d, want 2; refused: %q", code, said.Refused)
	}
	if writes := p.Audit(t).Since(mark).OfDaemons().Writes(); len(writes) > 0 {
		t.Errorf("plan has written to the cluster: %v", writes)
	}
	if now := cloudChanged(t, p.Pool.Cloud); now != changed {
		t.Errorf("plan has made %d calls that change the cloud", now-changed)
	}
	effects := p.effects(said)
	p.checkStates(t, effects)

	mark = p.Audit(t).Mark()
	d := p.Pool.Runs(t, p.setup)
	p.awaitDone(t, effects, routes)
	expect.Within(t, 4*expect.Soon, func(context.Context) error {
		return unwritten(effects, writtenIn(p.Audit(t).Since(mark).OfDaemons().Writes()))
	})
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	p.compare(t, effects, writtenIn(p.Audit(t).Since(mark).OfDaemons().Writes()))
	if err := p.compareRoutes(t.Context(), t, effects, routes); err != nil {
		t.Error(err)
	}
}

// foresee runs the sub-command "plan", which gathers evidence for the given time.
func (p *planned) foresee(t *testing.T, lookFor string) (said bed.Planned, code int) {
	t.Helper()
	return p.Plan(t, p.setup, "--for="+lookFor, "--detailed-exitcode")
}

// isComplete reports whether "plan" has gathered enough evidence to predict all four
// deletions: of the Node whose instance is gone, and of three routes.
func (p *planned) isComplete(said bed.Planned) bool {
	effects, routes := p.effects(said), 0
	for object, e := range effects {
		if strings.HasPrefix(object, "route/") && e.gravest == "delete" {
			routes++
		}
	}
	return effects[p.names["gone"]].gravest == "delete" && routes == 3
}

// effect is the output of "plan" about one object.
type effect struct {
	gravest string // the last of the effects in the order none, wait, update, create, delete
	writes  bool   // the object is written; events do not count
	calls   []string
}

var onNode = regexp.MustCompile(` on (node/\S+)$`)

// effects returns the output of "plan" by object.
func (*planned) effects(said bed.Planned) map[string]effect {
	order := []string{"", "none", "wait", "update", "create", "delete"}
	all := map[string]effect{}
	note := func(object, gravest string, change func(*effect)) {
		e := all[object]
		if slices.Index(order, gravest) > slices.Index(order, e.gravest) {
			e.gravest = gravest
		}
		change(&e)
		all[object] = e
	}
	written := func(e *effect) { e.writes = true }
	for _, s := range said.Steps {
		note(s.Object, s.Effect, func(e *effect) { e.calls = append(e.calls, s.Calls...) })
		for _, w := range s.Writes {
			if on := onNode.FindStringSubmatch(w); on != nil {
				note(on[1], "", written)
			} else if !strings.HasPrefix(w, "event ") {
				note(s.Object, "", written)
			}
		}
	}
	return all
}

// checkStates checks the predictions of "plan" for the objects that have changed.
func (p *planned) checkStates(t *testing.T, effects map[string]effect) {
	t.Helper()
	for what, want := range map[string]string{
		"gone": "delete", "stopped": "update", "silent": "none", "resized": "update", "moved": "update", "excluded": "update",
		"new": "create", "unknown": "wait", "foreign": "wait", "deleted": "",
		"deletedService": "delete", "internalService": "delete", "editedService": "update", "servedService": "update", "newService": "create", "otherService": "none",
	} {
		if got := effects[p.names[what]].gravest; got != want {
			t.Errorf("%s (%s): plan says %q, want %q", what, p.names[what], got, want)
		}
	}
	counts := map[string]int{}
	for object, e := range effects {
		kind, _, _ := strings.Cut(object, "/")
		counts[kind+" "+e.gravest]++
	}
	t.Logf("plan: %v", counts)
	// Two routes lead nowhere, because one instance is gone and one is stopped. A
	// third route has lost its Node.
	if counts["route delete"] != 3 || counts["route create"] != 3 || counts["node delete"] != 1 {
		t.Errorf("effects by kind: %v", counts)
	}
}

// awaitDone waits until the daemon has done everything that "plan" has predicted.
func (p *planned) awaitDone(t *testing.T, effects map[string]effect, routes map[string]string) {
	t.Helper()
	expect.Within(t, 4*expect.Soon, func(ctx context.Context) error {
		_, err := p.Admin.CoreV1().Nodes().Get(ctx, strings.TrimPrefix(p.names["gone"], "node/"), metav1.GetOptions{})
		if err == nil {
			return errors.New("the Node is not deleted")
		}
		return nil
	})
	p.AwaitNode(t, strings.TrimPrefix(p.names["new"], "node/"), expect.Soon, nodes.Initialized)
	p.AwaitNode(t, strings.TrimPrefix(p.names["resized"], "node/"), expect.Soon, func(node *corev1.Node) error {
		return expect.Equal("type", "sim.large", node.Labels[corev1.LabelInstanceTypeStable])
	})
	p.AwaitNode(t, strings.TrimPrefix(p.names["moved"], "node/"), expect.Soon, func(node *corev1.Node) error {
		return expect.Equal("address", "10.9.9.9", node.Status.Addresses[0].Address)
	})
	service := func(what string) string { return strings.TrimPrefix(p.names[what], "service/default/") }
	p.AwaitService(t, service("newService"), 4*expect.Soon, lbservice.Showing(lbservice.ConditionProvisioning, metav1.ConditionFalse, "Provisioned"))
	p.Services.AwaitGone(t, service("deletedService"))
	p.AwaitInternal(t, service("internalService"))
	expect.Within(t, 4*expect.Soon, func(ctx context.Context) error { return p.compareRoutes(ctx, t, effects, routes) })
	podnetwork.AwaitListings(t, p.Pool.Cloud, 3)
}

// writtenIn returns the Nodes and the Services that the requests have written.
func writtenIn(writes audit.Requests) map[string]bool {
	written := map[string]bool{}
	for _, r := range writes {
		switch r.Object.Resource {
		case "nodes":
			written["node/"+r.Object.Name] = true
		case "services":
			written["service/"+r.Object.Namespace+"/"+r.Object.Name] = true
		}
	}
	return written
}

// unwritten returns an error that names each object that was not written although "plan"
// has predicted a write.
func unwritten(effects map[string]effect, written map[string]bool) error {
	var errs []error
	for object, e := range effects {
		if e.writes && e.gravest != "wait" && !written[object] {
			errs = append(errs, fmt.Errorf("%s was not written, and plan has said %+v", object, e))
		}
	}
	return errors.Join(errs...)
}

// compare checks that the daemon has made the writes that "plan" has predicted, and no
// others.
func (*planned) compare(t *testing.T, effects map[string]effect, written map[string]bool) {
	t.Helper()
	for object := range written {
		if e := effects[object]; !e.writes && e.gravest != "wait" && e.calls == nil {
			t.Errorf("%s was written, and plan has said %+v", object, e)
		}
	}
	if err := unwritten(effects, written); err != nil {
		t.Error(err)
	}
}

// compareRoutes returns an error while the routes differ from the prediction of "plan".
// The argument before has the routes as they were before the daemon ran.
func (p *planned) compareRoutes(ctx context.Context, t *testing.T, effects map[string]effect, before map[string]string) error {
	t.Helper()
	now := routesOf(ctx, t, p.Pool.Cloud)
	var errs []error
	for destination, id := range before {
		calls := effects["route/"+destination].calls
		if goes := slices.Contains(calls, "DeleteRoute"); goes == (now[destination] == id) {
			errs = append(errs, fmt.Errorf("route %s was %s and is %q, plan has said %q", destination, id, now[destination], calls))
		}
	}
	for destination := range now {
		if calls := effects["route/"+destination].calls; before[destination] == "" && !slices.Contains(calls, "CreateRoute") {
			errs = append(errs, fmt.Errorf("route %s was created, plan has said %q", destination, calls))
		}
	}
	return errors.Join(errs...)
}

// routesOf returns the IDs of the cloud's routes by destination.
func routesOf(ctx context.Context, t *testing.T, c *bed.Cloud) map[string]string {
	t.Helper()
	all, err := c.Routes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, r := range all {
		found[r.Destination] = r.ID
	}
	return found
}
