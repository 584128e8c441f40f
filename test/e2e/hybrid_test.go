package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

const (
	rackLabel  = "node.example.com/rack"
	cloudLabel = "node.example.com/cloud"
	publicIP   = "203.0.113.9" // of each machine in the rack
	ccmOfRack  = "ccm-static"
	rackConfig = `
nodes:
- selector: {matchLabels: {` + rackLabel + `: ""}}
  region: home
  zone: rack-1
  type: nuc
  labels: {example.com/power: solar}
  externalIPs: fromAnnotation example.com/public-ip
providerID: static://home/{{name}}
`
)

// hybridCloud is one of the clouds: its Nodes, its daemon and its Service.
type hybridCloud struct {
	*nodepool.Pool

	name     string // part of the names of its load balancer class and its program
	provider string // a provider of testccm; empty means the simulated one
	daemon   *daemon.Daemon
	service  string
}

// The Nodes of one cluster are in two clouds and in a rack. Each cloud has an instance
// with the name of every Node, even of Nodes that belong to the other cloud or to the
// rack. Whatever a cloud says, each daemon writes only its own Nodes, and each load
// balancer has only its own cloud's Nodes as backends. No Node is deleted, and all are
// ready for pods. In this test, the evidence for a deletion is complete after some
// seconds, and each wrong answer of a cloud lasts longer than that.
func TestTwoCloudsAndARack(t *testing.T) {
	b := onOwn(t)
	mark := b.Audit(t).Mark()
	// The machines of the rack are real kubelets. No daemon knows the cloud that boots them.
	var rack []string
	for _, i := range b.Kubelets(t, simulator.Instance{Name: b.Name("rack")}, simulator.Instance{Name: b.Name("rack")}) {
		rack = append(rack, i.Name)
	}
	inEast := []string{b.Name("node"), b.Name("node"), b.Name("node")}
	inWest := []string{b.Name("node"), b.Name("node"), b.Name("node")}
	names := slices.Concat(inEast, inWest, rack) // in both clouds, so the ID of a Node in one cloud is also the ID of an instance in the other
	east := newHybridCloud(t, b, "east", names, inEast)
	west := newHybridCloud(t, b, "west", names, inWest)
	west.provider = "listing"
	sides := []*hybridCloud{east, west}
	for _, s := range sides {
		s.runs(t, s.Cloud)
	}
	lease := b.Name("lease")
	lbservice.MayLeadBy(t, b, lease)
	b.Daemon(t, daemon.Setup{Static: rackConfig, As: ccmOfRack, Elect: true, Lease: lease, Flags: nodepool.Quickly(
		"--own-node-selector="+rackLabel, "--own-provider-id-schemes=static", "--node-status-update-frequency=2s")})
	for _, s := range sides {
		s.initialised(t)
	}
	for _, name := range rack {
		if !nodes.IsTainted(b.Node(t, name)) {
			t.Errorf("node %s is initialised, although no daemon owns it", name)
		}
		joinsRack(t, b, name)
	}
	uids := uidsOf(t, b)
	for _, s := range sides {
		s.serves(t)
	}

	for _, s := range sides {
		for n, lie := range lies() {
			s.hears(t, lie, s.Members[n])
			for _, s := range sides {
				s.carriesTraffic(t)
			}
			if err := expect.Equal("UIDs of the Nodes after "+s.name+" "+lie.name, uids, uidsOf(t, b)); err != nil {
				t.Error(err)
			}
		}
	}
	for _, name := range names {
		b.AwaitNode(t, name, expect.Soon, func(node *corev1.Node) error { return errors.Join(nodes.Initialized(node), isReady(node)) })
	}
	all := b.Audit(t).Since(mark)
	onlyWrites(t, all.OfProgram("ccm-east"), inEast)
	onlyWrites(t, all.OfProgram("ccm-west"), inWest)
	onlyWrites(t, all.OfProgram(ccmOfRack), rack)
}

// newHybridCloud makes a cloud. It has an instance for each name in the argument all.
// Those in the argument own also have a Node.
func newHybridCloud(t *testing.T, b *bed.Bed, name string, all, own []string) *hybridCloud {
	t.Helper()
	s := &hybridCloud{name: name, Pool: &nodepool.Pool{Bed: b, Cloud: b.NewCloud(t, "--check-interval=200ms")}}
	for _, instance := range all {
		i := s.Cloud.Instance(t, simulator.Instance{Name: instance, Addresses: nodes.CloudAddresses("InternalIP=" + someAddress())})
		if slices.Contains(own, instance) {
			node := nodes.New(instance)
			node.Labels[cloudLabel] = name
			s.Members = append(s.Members, &nodepool.Member{Node: b.Register(t, node), Instance: i})
		}
	}
	return s
}

// someAddress returns a loopback address that other programs are unlikely to use.
func someAddress() string {
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.N(60), 1+rand.N(250), 1+rand.N(250))
}

// runs starts a daemon that uses the cloud c. It first kills the previous daemon.
func (s *hybridCloud) runs(t *testing.T, c *bed.Cloud) {
	t.Helper()
	if s.daemon != nil {
		s.daemon.Kill()
	}
	s.daemon = s.Daemon(t, daemon.Setup{Provider: s.provider, Cloud: c.URL, As: "ccm-" + s.name, Flags: nodepool.Quickly(
		"--own-node-selector="+cloudLabel+"="+s.name, "--own-provider-id-schemes=simulated", "--service-backends-of=own",
		"--load-balancer-class=e2e/"+s.name, "--node-status-update-frequency=2s")})
}

func (s *hybridCloud) initialised(t *testing.T) {
	t.Helper()
	for _, m := range s.Members {
		s.AwaitNode(t, m.Name, expect.Soon, nodes.As(m.Instance, nodes.AddressesOf(m.Instance)...))
	}
}

// joinsRack gives a Node of the rack the label and the address that a kubelet would set
// with --node-labels and --node-ip. It also adds the annotation with the public address.
// Then it waits until the Node is initialised.
func joinsRack(t *testing.T, b *bed.Bed, name string) {
	t.Helper()
	internal := someAddress()
	status := `{"status":{"addresses":[{"type":"InternalIP","address":"` + internal + `"}]}}`
	if _, err := b.Admin.CoreV1().Nodes().Patch(t.Context(), name, types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	b.Patch(t, name, `{"metadata":{"labels":{"`+rackLabel+`":""},"annotations":{"example.com/public-ip":"`+publicIP+`"}}}`)
	want := map[string]string{
		corev1.LabelTopologyRegion: "home", corev1.LabelTopologyZone: "rack-1", corev1.LabelInstanceTypeStable: "nuc", "example.com/power": "solar",
	}
	b.AwaitNode(t, name, expect.Soon, func(node *corev1.Node) error {
		got := maps.Clone(node.Labels)
		maps.DeleteFunc(got, func(key, _ string) bool { _, wanted := want[key]; return !wanted })
		return errors.Join(
			nodes.Initialized(node),
			expect.Equal("provider ID", "static://home/"+name, node.Spec.ProviderID),
			expect.Equal("labels", want, got),
			expect.Equal("addresses", nodes.Addresses("InternalIP="+internal, "ExternalIP="+publicIP, "Hostname="+name), node.Status.Addresses),
		)
	})
}

// serves creates a Service of the cloud's class, and makes the cloud's machines answer at
// the Service's node port.
func (s *hybridCloud) serves(t *testing.T) {
	t.Helper()
	services := s.services()
	s.service = services.Balanced(t, s.name)
	var own []simulator.Instance
	for _, m := range s.Members {
		(&machine{instance: m.Instance}).answers(t, services.Service(t, s.service).Spec.Ports[0].NodePort)
		own = append(own, m.Instance)
	}
	services.AwaitServing(t, s.service, own...)
	s.carriesTraffic(t)
}

func (s *hybridCloud) services() lbservice.Services {
	return lbservice.Services{Bed: s.Bed, Cloud: s.Cloud, Class: "e2e/" + s.name}
}

// carriesTraffic waits until the load balancer has forwarded connections to each Node of
// its own cloud. It fails the test if the load balancer has any other backend.
func (s *hybridCloud) carriesTraffic(t *testing.T) {
	t.Helper()
	l, err := s.services().Balancer(t.Context(), s.service)
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, m := range s.Members {
		missing[m.Instance.ID] = true
	}
	if err := expect.Equal("backends of "+s.name, slices.Sorted(maps.Keys(missing)), slices.Sorted(slices.Values(l.Backends))); err != nil {
		t.Error(err)
	}
	v := &trafficClient{address: l.Traffic.Listeners[0].Address}
	expect.Within(t, expect.Soon, func(context.Context) error {
		is := v.connect()
		if delete(missing, is.host); len(missing) > 0 {
			return fmt.Errorf("the load balancer of %s has not yet led to %v; error %w", s.name, missing, is.err)
		}
		return nil
	})
}

// lie is a wrong answer of a cloud about its own instances.
type lie struct {
	name string
	// fault makes the cloud give the wrong answer. If there is no fault, the test
	// restarts the daemon with another project of the cloud, which has none of the
	// instances.
	fault simulator.Fault
}

func lies() []lie {
	return []lie{
		{name: "says not found", fault: simulator.Fault{Name: "lie", Kind: simulator.FaultNotFound}},
		{name: "lists nothing", fault: simulator.Fault{Name: "lie", Kind: simulator.FaultEmptyList}},
		{name: "is another project"},
	}
}

// hears makes the cloud give the wrong answer while a kubelet is silent, and waits until
// the daemon has received this answer several times.
func (s *hybridCloud) hears(t *testing.T, l lie, silent *nodepool.Member) {
	t.Helper()
	asked := s.Cloud
	if l.fault.Kind == "" {
		asked = s.NewCloudWithoutTraffic(t)
		asked.Instance(t, simulator.Instance{Name: s.Name("elsewhere")})
		s.runs(t, asked)
	} else {
		s.Cloud.Fail(t, l.fault)
	}
	s.Silence(t, silent)
	if l.fault.Kind == simulator.FaultEmptyList && s.provider == "" {
		awaitCalls(t, asked, 20) // This provider finds an instance without a list, so no deletion is held.
	} else {
		s.AwaitTold(t, nodepool.GoneWithin, []*nodepool.Member{silent}, "Warning NodeDeletionHeld", "Normal NodeDeletionHeld")
		awaitCalls(t, asked, 10)
	}
	s.Cloud.Heal(t)
	if asked != s.Cloud {
		s.runs(t, s.Cloud)
	}
	s.Wake(t, silent)
}

// uidsOf returns the UIDs of all Nodes, by name. A Node of the rack that is deleted comes
// back with another UID, because its kubelet registers it again.
func uidsOf(t *testing.T, b *bed.Bed) map[string]types.UID {
	t.Helper()
	list, err := b.Admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uids := map[string]types.UID{}
	for _, node := range list.Items {
		uids[node.Name] = node.UID
	}
	return uids
}

func isReady(node *corev1.Node) error {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return errors.New("it is not ready")
}

// onlyWrites fails the test unless the requests write all of these Nodes and no
// others.
func onlyWrites(t *testing.T, of audit.Requests, own []string) {
	t.Helper()
	written := map[string]bool{}
	for _, r := range of.Writes() {
		if r.Object.Resource != "nodes" {
			continue
		}
		written[r.Object.Name] = true
		if !slices.Contains(own, r.Object.Name) {
			t.Errorf("%s has written a Node that is not its own: %s", r.UserAgent, r)
		}
	}
	if err := expect.Equal("Nodes that were written", slices.Sorted(slices.Values(own)), slices.Sorted(maps.Keys(written))); err != nil {
		t.Error(err)
	}
}
