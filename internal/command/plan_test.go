package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	cloudprovider "k8s.io/cloud-provider"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/daemon"
	"github.com/fairlead-k8s/fairlead/internal/dryrun"
)

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
	cmd := New(daemon.Options{Name: "acme-ccm", ProviderName: "acme", Provider: func(context.Context, daemon.ProviderDeps) (cloudprovider.Interface, error) {
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

// A user who has no right to read does not have to wait for two minutes.
func TestPlanWithoutRightsEndsSoon(t *testing.T) {
	if testing.Short() {
		t.Skip("takes fifteen seconds")
	}
	server := httptest.NewServer(&readableServer{denied: "/nodes"})
	defer server.Close()
	want := "s: the API server has not listed its objects; it refuses GET /api/v1/nodes, because the user has no right to that"
	if _, err := runPlan(t, server.URL); err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "2m") {
		t.Errorf("got %v, want an error that ends with %q, after fifteen seconds", err, want)
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
	var got dryrun.Report
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

// Destinations and targets of routes come from the cloud. They must not be able to
// forge a line of the report or to control the terminal.
func TestReportForgesNoLine(t *testing.T) {
	r := dryrun.Report{Steps: []step.Step{{
		Object: "route/10.0.0.0/24\n  - node/worker-1  delete", Do: "remove to a\x1b[2J\nWould change: nothing.", Effect: step.Delete, Why: "w",
	}}}
	r.Idle = []dryrun.Idle{{Controller: "x", Why: "the cloud said\n\u202etxet"}}
	for _, output := range []string{"text", "json", "yaml"} {
		var out bytes.Buffer
		if err := write(&out, &r, planFlags{output: output}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); strings.ContainsAny(got, "\x1b\u202e") || strings.Contains(got, "\n  - node") || strings.Contains(got, "\nWould change: nothing") {
			t.Errorf("%s:\n%q", output, got)
		}
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
	something := dryrun.Report{Steps: []step.Step{{Object: "node/n", Effect: step.Wait}}}
	nothing := dryrun.Report{Steps: []step.Step{{Object: "node/n", Effect: step.None}}}
	if !something.Changes() || nothing.Changes() {
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
	cmd := New(daemon.Options{Name: "acme-ccm", ProviderName: "acme", Flags: theirs, Provider: func(context.Context, daemon.ProviderDeps) (cloudprovider.Interface, error) {
		return writing{}, nil
	}})
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs([]string{"plan", "--master=" + server.URL, "--cluster-name=c", "--kube-api-content-type=application/json", "--node=host", "-o", "file", "--plan-output=json"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	var got dryrun.Report
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
	file := filepath.Join(t.TempDir(), "migration.yaml")
	config := "kind: LeaderMigrationConfiguration\napiVersion: controllermanager.config.k8s.io/v1\nleaderName: m\n" +
		"controllerLeaders:\n- {name: service-lb-controller, component: kube-controller-manager}\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := runPlan(t, server.URL, "-o", "json", "--enable-leader-migration", "--leader-migration-config="+file)
	if err != nil {
		t.Fatal(err)
	}
	var got dryrun.Report
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := dryrun.Idle{Controller: "service-lb-controller", Why: "leader migration gives it to another manager"}
	if !slices.Contains(got.Idle, want) {
		t.Errorf("controllers that are not looked at: %+v, want %+v among them", got.Idle, want)
	}
}
