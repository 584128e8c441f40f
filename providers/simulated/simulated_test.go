package simulated

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// fixture is a provider and its cloud.
type fixture struct {
	cloud     *Cloud
	instances cloudprovider.InstancesV2
	operator  *simulator.Client
}

func newFixture(t *testing.T, config simulator.Config, lines ...string) fixture {
	t.Helper()
	cloud, err := simulator.New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	// Create the provider as the daemon does.
	yaml := strings.Join(append([]string{"endpoint: " + server.URL}, lines...), "\n")
	found, err := cloudprovider.GetCloudProvider(Name, strings.NewReader(yaml))
	if err != nil {
		t.Fatal(err)
	}
	found.Initialize(nil, t.Context().Done())
	instances, ok := found.InstancesV2()
	if !ok {
		t.Fatal("no InstancesV2")
	}
	return fixture{cloud: found.(*Cloud), instances: instances, operator: simulator.NewClient(server.URL).Operator()}
}

func (f fixture) create(t *testing.T, i simulator.Instance) simulator.Instance {
	t.Helper()
	created, err := f.operator.CreateInstance(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func (f fixture) set(t *testing.T, fault simulator.Fault) {
	t.Helper()
	fault.Name = string(fault.Kind)
	if err := f.operator.SetFault(t.Context(), fault); err != nil {
		t.Fatal(err)
	}
}

func (f fixture) batch(t *testing.T, nodes ...*corev1.Node) []provider.InstanceMetadataAnswer {
	t.Helper()
	answers, err := f.instances.(provider.InstanceMetadataBatcher).InstanceMetadataBatch(t.Context(), nodes)
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

func node(name, providerID string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestMetadata(t *testing.T) {
	f := newFixture(t, simulator.Config{})
	f.create(t, simulator.Instance{
		Name: "node-1", Zone: "sim-1b", Type: "large",
		Addresses: []simulator.Address{
			{Type: simulator.ExternalIP, Address: "203.0.113.1"},
			{Type: simulator.InternalIP, Address: "fd00::1"},
			{Type: simulator.Hostname, Address: "node-1"},
			{Type: simulator.InternalIP, Address: "127.0.1.1"},
		},
		Labels: map[string]string{"rack": "r1", "kubernetes.io/odd": "not a value!"},
	})
	f.create(t, simulator.Instance{Name: "node-2", Region: "sim-2"})
	want := &cloudprovider.InstanceMetadata{
		ProviderID: "simulated://sim-1/i-00000001", InstanceType: "large", Zone: "sim-1b", Region: "sim-1",
		NodeAddresses: []corev1.NodeAddress{
			{Type: corev1.NodeExternalIP, Address: "203.0.113.1"},
			{Type: corev1.NodeInternalIP, Address: "fd00::1"},
			{Type: corev1.NodeHostName, Address: "node-1"},
			{Type: corev1.NodeInternalIP, Address: "127.0.1.1"},
		},
		AdditionalLabels: map[string]string{"rack": "r1", "kubernetes.io/odd": "not a value!"},
	}
	for name, n := range map[string]*corev1.Node{
		"ByName":                   node("node-1", ""),
		"ByProviderID":             node("node-1", "simulated://sim-1/i-00000001"),
		"ProviderIDWinsOverName":   node("node-2", "simulated://sim-1/i-00000001"),
		"RegionOfProviderIDIsPast": node("node-1", "simulated://sim-0/i-00000001"),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := f.instances.InstanceMetadata(t.Context(), n)
			diff(t, "error", nil, err)
			diff(t, "metadata", want, got)
			got.AdditionalLabels["rack"], got.NodeAddresses[0].Address = "changed", "changed"
			again, err := f.instances.InstanceMetadata(t.Context(), n)
			diff(t, "error", nil, err)
			diff(t, "metadata after the caller has changed its copy", want, again)
			diff(t, "in a batch", []provider.InstanceMetadataAnswer{{Metadata: want}}, f.batch(t, n))
		})
	}
	t.Run("TwoNodesTwoAnswers", func(t *testing.T) {
		got, err := f.instances.InstanceMetadata(t.Context(), node("node-2", ""))
		diff(t, "error", nil, err)
		diff(t, "provider ID", "simulated://sim-2/i-00000002", got.ProviderID)
	})
}

// TestPresence checks the provider's answers about a Node in each situation of its
// instance.
func TestPresence(t *testing.T) {
	const id = "simulated://sim-1/i-00000001"
	present, absent, refused := "present", "absent", "refused"
	for name, row := range map[string]struct {
		prepare  func(*testing.T, fixture)
		node     *corev1.Node
		want     string
		shutdown bool
	}{
		"Running":                  {node: node("node-1", id), want: present},
		"RunningByName":            {node: node("node-1", ""), want: present},
		"Stopped":                  {prepare: stopped, node: node("node-1", id), want: present, shutdown: true},
		"StoppedByName":            {prepare: stopped, node: node("node-1", ""), want: present, shutdown: true},
		"Renamed":                  {prepare: renamed, node: node("node-1", id), want: present},
		"RenamedByName":            {prepare: renamed, node: node("node-1", ""), want: absent},
		"RegionChanged":            {prepare: moved, node: node("node-1", id), want: present},
		"Terminated":               {prepare: terminated, node: node("node-1", id), want: absent},
		"TerminatedByName":         {prepare: terminated, node: node("node-1", ""), want: absent},
		"ReplacedByOneOfItsName":   {prepare: replaced, node: node("node-1", id), want: absent},
		"ReplacedByName":           {prepare: replaced, node: node("node-1", ""), want: present},
		"NeverThere":               {node: node("node-9", "simulated://sim-1/i-00000009"), want: absent},
		"NeverThereByName":         {node: node("node-9", ""), want: absent},
		"TwoOfTheName":             {prepare: twin, node: node("node-1", ""), want: refused},
		"TwoOfTheNameByID":         {prepare: twin, node: node("node-1", id), want: present},
		"ForeignProviderID":        {node: node("node-1", "aws:///eu-1a/i-00000001"), want: refused},
		"OtherSchemeOfOurName":     {node: node("node-1", "simulated2://sim-1/i-00000001"), want: refused},
		"ProviderIDWithoutID":      {node: node("node-1", "simulated://sim-1/"), want: refused},
		"ProviderIDOfOneWord":      {node: node("node-1", "simulated://i-00000001"), want: refused},
		"ProviderIDWithoutRegion":  {node: node("node-1", "simulated:///i-00000001"), want: refused},
		"ProviderIDWithPath":       {node: node("node-1", "simulated://sim-1/i-00000001/stop"), want: refused},
		"ProviderIDThatClimbs":     {node: node("node-1", "simulated://sim-1/.."), want: refused},
		"InstanceListedTerminated": {prepare: terminated, node: node("node-1", id), want: absent},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, simulator.Config{TerminatedFor: keptFor(name)})
			f.create(t, simulator.Instance{Name: "node-1"})
			if row.prepare != nil {
				row.prepare(t, f)
			}
			exists, err := f.instances.InstanceExists(t.Context(), row.node)
			diff(t, "exists", row.want == present, exists)
			diff(t, "exists errs", row.want == refused, err != nil)
			shutdown, err := f.instances.InstanceShutdown(t.Context(), row.node)
			diff(t, "shutdown", row.shutdown, shutdown)
			ended, err2 := f.instances.(provider.Terminations).InstanceTermination(t.Context(), row.node)
			diff(t, "termination is known", name == "InstanceListedTerminated", ended != provider.Termination{})
			diff(t, "termination errs", row.want == refused && row.node.Spec.ProviderID != id && row.node.Spec.ProviderID != "", err2 != nil)
			if !ended.At.IsZero() {
				diff(t, "termination", provider.Termination{ProviderID: id, At: ended.At, By: provider.TerminatedByUser}, ended)
				diff(t, "it was in the last minute", true, time.Since(ended.At) < time.Minute && !ended.At.After(time.Now()))
			}
			diff(t, "shutdown errs", row.want != present, err != nil)
			_, err = f.instances.InstanceMetadata(t.Context(), row.node)
			diff(t, "metadata errs", row.want != present, err != nil)
			diff(t, "not found", row.want == absent, errors.Is(err, cloudprovider.InstanceNotFound))
			diff(t, "invalid", row.want == refused, f.cloud.ClassifyError(err).Kind == provider.Invalid)
			batched := f.batch(t, row.node)[0].Err
			diff(t, "the same in a batch", text(err), text(batched))
		})
	}
}

// keptFor returns how long the cloud lists terminated instances in the given test
// row: an hour in one row, and zero in the others.
func keptFor(row string) time.Duration {
	if row == "InstanceListedTerminated" {
		return time.Hour
	}
	return 0
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func stopped(t *testing.T, f fixture) {
	diff(t, "stop", nil, f.operator.StopInstance(t.Context(), "i-00000001"))
}

func terminated(t *testing.T, f fixture) {
	diff(t, "terminate", nil, f.operator.TerminateInstance(t.Context(), "i-00000001"))
}

func twin(t *testing.T, f fixture) { f.create(t, simulator.Instance{Name: "node-1"}) }

func replaced(t *testing.T, f fixture) {
	terminated(t, f)
	twin(t, f)
}

func renamed(t *testing.T, f fixture) { patch(t, f, simulator.InstancePatch{Name: new("other")}) }

func moved(t *testing.T, f fixture) { patch(t, f, simulator.InstancePatch{Region: new("sim-2")}) }

func patch(t *testing.T, f fixture, p simulator.InstancePatch) {
	t.Helper()
	_, err := f.operator.UpdateInstance(t.Context(), "i-00000001", p)
	diff(t, "patch", nil, err)
}

func TestPendingIsNotShutDown(t *testing.T) {
	f := newFixture(t, simulator.Config{Transition: time.Hour})
	f.create(t, simulator.Instance{Name: "node-1"})
	n := node("node-1", "")
	shutdown, err := f.instances.InstanceShutdown(t.Context(), n)
	diff(t, "error", nil, err)
	diff(t, "pending is shut down", false, shutdown)
	stopped(t, f)
	shutdown, err = f.instances.InstanceShutdown(t.Context(), n)
	diff(t, "error", nil, err)
	diff(t, "stopping is shut down", true, shutdown)
}

// Every fault of the cloud is returned as an error. The provider never concludes
// that the instance is absent.
func TestFaultsAreErrors(t *testing.T) {
	for name, row := range map[string]struct {
		fault simulator.Fault
		want  provider.Classification
	}{
		"Error":        {simulator.Fault{Kind: simulator.FaultError}, provider.Classification{Kind: provider.Unavailable}},
		"Outage":       {simulator.Fault{Kind: simulator.FaultOutage}, provider.Classification{Kind: provider.Unavailable}},
		"Throttled":    {simulator.Fault{Kind: simulator.FaultThrottle, Rate: 0.001, Burst: 1}, provider.Classification{Kind: provider.Throttled, RetryAfter: 1000 * time.Second}},
		"Unauthorized": {simulator.Fault{Kind: simulator.FaultDenied, Status: 401}, provider.Classification{Kind: provider.Denied}},
		"Forbidden":    {simulator.Fault{Kind: simulator.FaultDenied}, provider.Classification{Kind: provider.Denied}},
		"Reset":        {simulator.Fault{Kind: simulator.FaultReset}, provider.Classification{Kind: provider.Unavailable}},
		"LostReply":    {simulator.Fault{Kind: simulator.FaultLostReply}, provider.Classification{Kind: provider.Unavailable}},
		"Hang":         {simulator.Fault{Kind: simulator.FaultHang}, provider.Classification{Kind: provider.Unavailable}},
	} {
		for how, n := range map[string]*corev1.Node{"ByID": node("node-1", "simulated://sim-1/i-00000001"), "ByName": node("node-1", "")} {
			t.Run(name+how, func(t *testing.T) {
				within := func() context.Context { return t.Context() }
				if row.fault.Kind == simulator.FaultHang {
					within = func() context.Context {
						ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
						t.Cleanup(cancel)
						return ctx
					}
				}
				f := newFixture(t, simulator.Config{})
				began := time.Now()
				f.create(t, simulator.Instance{Name: "node-1"})
				f.set(t, row.fault)
				if row.fault.Kind == simulator.FaultThrottle {
					if _, err := f.instances.InstanceExists(t.Context(), n); err != nil {
						t.Fatalf("the burst: %v", err)
					}
				}
				exists, err := f.instances.InstanceExists(within(), n)
				if exists || err == nil {
					t.Errorf("exists: got %v, %v", exists, err)
				}
				shutdown, err := f.instances.InstanceShutdown(within(), n)
				if shutdown || err == nil {
					t.Errorf("shutdown: got %v, %v", shutdown, err)
				}
				answers, err := f.instances.(provider.InstanceMetadataBatcher).InstanceMetadataBatch(within(), []*corev1.Node{n})
				if answers != nil || err == nil {
					t.Errorf("batch: got %v, %v", answers, err)
				}
				metadata, err := f.instances.InstanceMetadata(within(), n)
				if metadata != nil || err == nil || errors.Is(err, cloudprovider.InstanceNotFound) {
					t.Errorf("metadata: got %v, %v", metadata, err)
				}
				got := f.cloud.ClassifyError(err)
				// The time to wait grows shorter while the test runs.
				if passed := row.want.RetryAfter - got.RetryAfter; passed > 0 && passed <= time.Since(began) {
					got.RetryAfter = row.want.RetryAfter
				}
				diff(t, "class", row.want, got)
			})
		}
	}
}

// An instance that is left out of a list is still found by its ID.
func TestListsAreNotAskedWhereTheIDIsKnown(t *testing.T) {
	for _, kind := range []simulator.FaultKind{simulator.FaultEmptyList, simulator.FaultTruncatedList} {
		t.Run(string(kind), func(t *testing.T) {
			f := newFixture(t, simulator.Config{})
			f.create(t, simulator.Instance{Name: "node-1"})
			f.set(t, simulator.Fault{Kind: kind})
			exists, err := f.instances.InstanceExists(t.Context(), node("node-1", "simulated://sim-1/i-00000001"))
			diff(t, "error", nil, err)
			diff(t, "exists", true, exists)
		})
	}
}

func TestOtherServerIsNotBelieved(t *testing.T) {
	f := newFixture(t, simulator.Config{})
	f.cloud.now.client = simulator.NewClient(string(f.cloud.now.config.Endpoint) + "/elsewhere") // 404 for every path
	for _, n := range []*corev1.Node{node("node-1", "simulated://sim-1/i-00000001"), node("node-1", "")} {
		if exists, err := f.instances.InstanceExists(t.Context(), n); exists || err == nil {
			t.Errorf("got %v, %v", exists, err)
		}
	}
}

func TestBatch(t *testing.T) {
	f := newFixture(t, simulator.Config{})
	for _, name := range []string{"node-1", "node-2", "node-3", "twin", "twin"} {
		f.create(t, simulator.Instance{Name: name})
	}
	answers := f.batch(t,
		node("node-3", ""),
		node("node-1", "simulated://sim-1/i-00000001"),
		node("gone", ""),
		node("node-2", "aws:///x/i-00000002"),
		node("node-9", "simulated://sim-1/i-00000009"),
		node("twin", ""),
		node("any", "simulated://sim-1/i-00000002"),
	)
	var got []string
	for _, a := range answers {
		if a.Err != nil {
			got = append(got, a.Err.Error())
			continue
		}
		got = append(got, a.Metadata.ProviderID)
	}
	diff(t, "answers, in the order of the nodes", []string{
		"simulated://sim-1/i-00000003",
		"simulated://sim-1/i-00000001",
		"instance named gone: instance not found",
		`provider ID "aws:///x/i-00000002": it belongs to another provider; provider IDs of this provider are like simulated://{region}/{id}`,
		"instance i-00000009: instance not found",
		"2 instances are named twin: i-00000004, i-00000005",
		"simulated://sim-1/i-00000002",
	}, got)
	report, err := f.operator.Calls(t.Context())
	diff(t, "error", nil, err)
	diff(t, "lists: one for all, and one for each name that is not in it", int64(2), report.Count(simulator.ListInstances))
	diff(t, "questions about one: each ID that is not in the list", int64(1), report.Count(simulator.GetInstance))
	diff(t, "no nodes, no calls", []provider.InstanceMetadataAnswer{}, f.batch(t))
}

func TestBatchSize(t *testing.T) {
	for _, row := range []struct {
		config string
		want   int
	}{{"", 100}, {"pageSize: 7", 7}} {
		f := newFixture(t, simulator.Config{}, row.config)
		diff(t, "size", row.want, f.instances.(provider.InstanceMetadataBatcher).MaxInstanceMetadataBatch())
	}
}

func TestClassifyWhatIsNotTheClouds(t *testing.T) {
	f := newFixture(t, simulator.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, cancelled := f.instances.InstanceMetadata(ctx, node("node-1", ""))
	for _, err := range []error{nil, errors.New("other"), cloudprovider.InstanceNotFound, cancelled} {
		diff(t, "class of "+text(err), provider.Classification{}, f.cloud.ClassifyError(err))
	}
}
