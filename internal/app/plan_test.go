package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// answers is a function that returns a planner's answer for a key. It also gets the
// number of its call for this key, starting at 1.
type answers func(key string, time int) ([]step.Step, error)

func (answers) Follow(context.Context) (cache.InformerSynced, func(), error) { return nil, nil, nil }
func (answers) Keys() []string                                               { return nil }

// of returns a value of type look for each key. Each of these values has a planner that
// calls a to get its answers.
func (a answers) of(kind string, keys ...string) (looks []*look) {
	for _, key := range keys {
		times := 0
		l := &look{registration: registration{kind: kind}, key: key}
		l.planner = asked(func(key string) ([]step.Step, error) {
			times++
			return a(key, times)
		})
		looks = append(looks, l)
	}
	return looks
}

type asked func(key string) ([]step.Step, error)

func (asked) Follow(context.Context) (cache.InformerSynced, func(), error) { return nil, nil, nil }
func (asked) Keys() []string                                               { return nil }
func (a asked) Plan(_ context.Context, key string) ([]step.Step, error)    { return a(key) }

func one(object string, effect step.Effect) []step.Step {
	return []step.Step{{Object: object, Effect: effect, Do: string(effect), Why: "the rules say so"}}
}

func TestEvidenceIsGatheredAsLongAsThereIsTime(t *testing.T) {
	looks := answers(func(key string, times int) ([]step.Step, error) {
		s := one("node/"+key, step.Wait)
		switch {
		case key == "stays":
			s = one("node/"+key, step.None)
			s[0].After = time.Millisecond // has no effect: for a Node that stays, Plan is not called again
		case times < 3:
			s[0].After = time.Millisecond
		case key == "gone":
			s[0].Effect = step.Delete
		default:
			s[0].After = time.Hour
		}
		return s, nil
	}).of("node", "gone", "held", "stays")
	var mu sync.Mutex
	seen := 0
	(&dryRun{clock: clock.RealClock{}}).lookAt(t.Context(), looks, lookPlan{until: time.Now().Add(time.Minute), progress: func(done, all int) {
		mu.Lock()
		defer mu.Unlock()
		seen++
		if done > all {
			t.Errorf("%d of %d looked at", done, all)
		}
	}})
	var effects []string
	for _, l := range looks {
		effects = append(effects, string(l.steps[0].Effect))
	}
	if diff := cmp.Diff([]string{"delete", "wait", "none"}, effects); diff != "" || seen != 7 {
		t.Errorf("%d looks, want 7; effects (-want +got):\n%s", seen, diff)
	}
}

func TestReportOfADryRun(t *testing.T) {
	looks := slices.Concat(
		answers(func(key string, _ int) ([]step.Step, error) {
			s := one("service/"+key, step.Create)
			s[0].Writes, s[0].Calls = []string{"finalizer f added"}, []string{"EnsureLoadBalancer with 2 nodes"}
			return s, nil
		}).of("service", "a/web"),
		answers(func(key string, _ int) ([]step.Step, error) {
			switch key {
			case "n1":
				return one("node/n1", step.None), nil
			case "n2":
				return []step.Step{{Object: "node/n2", Effect: step.Wait, Do: "hold", Reason: "AbsenceUnconfirmed", Why: "line one\nline two"}}, nil
			default:
				return nil, errors.New("not readable")
			}
		}).of("node", "n1", "n2", "n3"),
		answers(func(string, int) ([]step.Step, error) { return one("node/n2", step.None), nil }).of("node", "n2"),
	)
	d := &dryRun{clock: clock.RealClock{}}
	d.lookAt(t.Context(), looks, lookPlan{progress: func(int, int) {}})
	d.report.CloudCalls, d.report.took = 9, 1234*time.Millisecond
	d.report.idle("node-route-controller", "--configure-cloud-routes is false")
	d.report.Refused = []string{"POST /api/v1/namespaces/default/events"}
	if err := d.report.add(looks); err == nil || err.Error() != "node n3: not readable" {
		t.Errorf("error %v", err)
	}
	var out bytes.Buffer
	if err := d.report.write(&out, planFlags{output: "text"}); err != nil {
		t.Fatal(err)
	}
	want := `Read-only: no lease, no event, no write, no call that changes the cloud. Looked at 2 nodes, 1 service in 1.2s, with 9 calls to the cloud.
  ! node/n2        hold    AbsenceUnconfirmed: line one line two
  + service/a/web  create  the rules say so
      finalizer f added
      call EnsureLoadBalancer with 2 nodes
Would change: 1 service. Waiting: 1 node. Would stay: 1 node.
Not looked at: node-route-controller, because --configure-cloud-routes is false.
The provider tried this itself, and it was refused: POST /api/v1/namespaces/default/events
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	out.Reset()
	if err := d.report.write(&out, planFlags{output: "json"}); err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), out.String()); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

// Destinations and targets of routes come from the cloud. They must not be able to
// forge a line of the report or to control the terminal.
func TestReportForgesNoLine(t *testing.T) {
	r := report{Steps: []step.Step{{
		Object: "route/10.0.0.0/24\n  - node/worker-1  delete", Do: "remove to a\x1b[2J\nWould change: nothing.", Effect: step.Delete, Why: "w",
	}}}
	r.idle("x", "the cloud said\n\u202etxet")
	for _, output := range []string{"text", "json", "yaml"} {
		var out bytes.Buffer
		if err := r.write(&out, planFlags{output: output}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); strings.ContainsAny(got, "\x1b\u202e") || strings.Contains(got, "\n  - node") || strings.Contains(got, "\nWould change: nothing") {
			t.Errorf("%s:\n%q", output, got)
		}
	}
}

// readableServer answers the requests that the sub-command "plan" needs. It lists
// the given Nodes and no other objects, and records the requests that are not GET.
type readableServer struct {
	nodes  string // items of the list
	denied string // end of the path of requests for which the right is missing; empty for none

	mu    sync.Mutex
	wrote []string // guarded by mu
}

func (s *readableServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wrote = append(s.wrote, r.Method+" "+r.URL.Path)
	}
	w.Header().Set("Content-Type", "application/json")
	switch path := r.URL.Path; {
	case s.denied != "" && strings.HasSuffix(path, s.denied):
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
	case path == "/version":
		_, _ = w.Write([]byte(`{"major":"1","minor":"36"}`))
	case r.URL.Query().Get("watch") == "true":
		if r.URL.Query().Get("sendInitialEvents") == "true" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`))
			return
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case strings.HasSuffix(path, "/nodes"):
		_, _ = fmt.Fprintf(w, `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[%s]}`, s.nodes)
	case strings.HasSuffix(path, "/services"):
		_, _ = w.Write([]byte(`{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// writing is a provider whose Initialize tries to write to the cluster.
type writing struct{ cloudprovider.Interface }

type noInstances struct{ cloudprovider.InstancesV2 }

func (writing) HasClusterID() bool   { return true }
func (writing) ProviderName() string { return "acme" }

func (writing) InstancesV2() (cloudprovider.InstancesV2, bool)   { return noInstances{}, true }
func (writing) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }
func (writing) Instances() (cloudprovider.Instances, bool)       { return nil, false }
func (writing) Zones() (cloudprovider.Zones, bool)               { return nil, false }
func (writing) Routes() (cloudprovider.Routes, bool)             { return nil, false }

func (writing) Initialize(clients cloudprovider.ControllerClientBuilder, _ <-chan struct{}) {
	_ = clients.ClientOrDie("acme").CoreV1().RESTClient().Delete().AbsPath("/api/v1/nodes/n").Do(context.Background()).Error()
}

func runPlan(t *testing.T, server string, args ...string) (string, error) {
	t.Helper()
	return runPlanOf(t, writing{}, server, args...)
}

func runPlanOf(t *testing.T, provider cloudprovider.Interface, server string, args ...string) (string, error) {
	t.Helper()
	cmd := NewCommand(Options{Name: "acme-ccm", ProviderName: "acme", Provider: func(context.Context, ProviderDeps) (cloudprovider.Interface, error) {
		return provider, nil
	}})
	var out, stderr bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&stderr)
	cmd.SetArgs(append([]string{"plan", "--master=" + server, "--cluster-name=c", "--kube-api-content-type=application/json", "--use-service-account-credentials"}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestPlanNeedsOnlyWhatItReads(t *testing.T) {
	server := httptest.NewServer(&readableServer{})
	defer server.Close()
	if _, err := runPlan(t, server.URL, "--tls-cert-file=/nowhere", "--tls-private-key-file=/nowhere", "--client-ca-file=/nowhere"); err != nil {
		t.Errorf("without the files of a server: %v", err)
	}
	want := `there is no service "web" that a controller is responsible for; a Service is named NAMESPACE/NAME`
	if _, err := runPlan(t, server.URL, "--service=web"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Whichever features are on, a dry run writes nothing. It creates neither the tokens
// of service accounts nor the lease of a daemon, and it refuses what the provider
// tries to write.
func TestPlanWritesNothing(t *testing.T) {
	api := &readableServer{}
	server := httptest.NewServer(api)
	defer server.Close()
	text, err := runPlan(t, server.URL, "-o", "json", "--detailed-exitcode")
	if err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"DELETE /api/v1/nodes/n"}, got.Refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	api.mu.Lock()
	defer api.mu.Unlock()
	if len(api.wrote) > 0 {
		t.Errorf("the API server got %q", api.wrote)
	}
	idle := map[string]string{}
	for _, i := range got.Idle {
		idle[i.Controller] = i.Why
	}
	if idle["service-lb-controller"] != "the provider offers no load balancers" {
		t.Errorf("idle: %q", idle)
	}
}

// If a dry run waits for objects because a list request was refused, it names that
// request.
func TestDryRunKnowsWhatWasRefused(t *testing.T) {
	server := httptest.NewServer(&readableServer{denied: "/nodes"})
	defer server.Close()
	p := parsed(t, "--kube-api-content-type=application/json --master="+server.URL)
	p.dry = &refusals{}
	p.options.Provider = func(context.Context, ProviderDeps) (cloudprovider.Interface, error) { return writing{}, nil }
	made, err := newProcess(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	client, err := made.clients.informers()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the API server has refused nothing")
	}
	if got := p.dry.notListed(); !strings.Contains(got, "it refuses GET /api/v1/nodes,") {
		t.Error(got)
	}
}

func TestPlanThatCannotBeMade(t *testing.T) {
	server := httptest.NewServer(&readableServer{})
	defer server.Close()
	for _, tt := range []struct {
		name, server string
		args         []string
		want         string
	}{
		{"UnknownFormat", server.URL, []string{"-o", "xml"}, `--output: "xml" is not text, json or yaml`},
		{"WrongFlag", server.URL, []string{"--controllers=foo"}, `"foo" is not in the list of known controllers`},
		{"UnknownNode", server.URL, []string{"--node=n"}, `there is no node "n"`},
		{"UnknownService", server.URL, []string{"--service=a/b"}, `there is no service "a/b"`},
		{"NoAPIServer", "http://127.0.0.1:1", nil, "the API server does not answer: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := runPlan(t, tt.server, tt.args...); err == nil || !strings.Contains(err.Error(), tt.want) || ExitCode(err, 75) != 1 {
				t.Errorf("error %v, want %q; code %d", err, tt.want, ExitCode(err, 75))
			}
		})
	}
}

func TestExitCodes(t *testing.T) {
	something := report{Steps: one("node/n", step.Wait)}
	nothing := report{Steps: one("node/n", step.None)}
	if !something.changes() || nothing.changes() {
		t.Error("a Node that waits is something to do, and one that stays is not")
	}
	if got := ExitCode(errWouldChange, 75); got != 2 {
		t.Errorf("code %d, want 2", got)
	}
	if got := ExitCode(nil, 75); got != 0 {
		t.Errorf("code %d, want 0", got)
	}
}

// The daemon's arguments are passed to the sub-command as they are. So a program's own
// flags keep their names and meanings in the sub-command. A flag of the sub-command
// with the same name gets a prefix.
func TestFlagsOfTheProgramComeBeforeThoseOfPlan(t *testing.T) {
	server := httptest.NewServer(&readableServer{})
	defer server.Close()
	var theirs cliflag.NamedFlagSets
	node := theirs.FlagSet("acme").String("node", "", "The host's name.")
	output := theirs.FlagSet("acme").StringP("output", "o", "", "Where to write.")
	cmd := NewCommand(Options{Name: "acme-ccm", ProviderName: "acme", Flags: theirs, Provider: func(context.Context, ProviderDeps) (cloudprovider.Interface, error) {
		return writing{}, nil
	}})
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs([]string{"plan", "--master=" + server.URL, "--cluster-name=c", "--kube-api-content-type=application/json", "--node=host", "-o", "file", "--plan-output=json"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	var got report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || *node != "host" || *output != "file" {
		t.Errorf("the program's flags are %q and %q; the output is %q: %v", *node, *output, &out, err)
	}
	for _, row := range []struct{ wrong, want string }{
		{"plan --cluster-name=c --plan-output=xml", `--plan-output: "xml" is not text, json or yaml`},
	} {
		cmd.SetArgs(strings.Fields(row.wrong))
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error %v, want %s", row.wrong, err, row.want)
		}
	}
	out.Reset()
	cmd.SetArgs([]string{"plan", "--help"})
	if err := cmd.Execute(); err != nil || !strings.Contains(out.String(), "--plan-node ") || strings.Contains(out.String(), "  --node ") {
		t.Errorf("error %v; the help is %s", err, &out)
	}
}

// If the leader migration makes another manager run a controller, the sub-command
// "plan" leaves this controller out.
func TestPlanLeavesControllersToOtherManagers(t *testing.T) {
	server := httptest.NewServer(&readableServer{})
	defer server.Close()
	file := planFile(t, planHead+"v1\nleaderName: m\ncontrollerLeaders:\n- {name: service-lb-controller, component: kube-controller-manager}\n")
	text, err := runPlan(t, server.URL, "-o", "json", "--enable-leader-migration", "--leader-migration-config="+file)
	if err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := idleController{"service-lb-controller", "leader migration gives it to another manager"}
	if !slices.Contains(got.Idle, want) {
		t.Errorf("controllers that are not looked at: %+v, want %+v among them", got.Idle, want)
	}
}
