package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/app/internal/settings"
	"github.com/fairlead-k8s/fairlead/internal/app/internal/shadow"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// looked is a provider that calls a function for each request for an instance's
// metadata.
type looked struct {
	writing

	asked func()
}

func (l looked) InstancesV2() (cloudprovider.InstancesV2, bool) { return l, true }

func (l looked) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	l.asked()
	return nil, errors.New("broken")
}

func (looked) InstanceExists(context.Context, *corev1.Node) (bool, error) { return true, nil }

func (looked) InstanceShutdown(context.Context, *corev1.Node) (bool, error) { return false, nil }

// Whichever features are on, a daemon with --shadow writes nothing: no lease, no
// token, no event. Writes of the provider are refused. At its end, the daemon prints
// one line.
func TestShadowWritesNothing(t *testing.T) {
	api := &readableServer{nodes: `{"metadata":{"name":"n","uid":"u"},"spec":{"taints":[{"key":"node.cloudprovider.kubernetes.io/uninitialized","effect":"NoSchedule"}]}}`}
	server := httptest.NewServer(api)
	defer server.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cmd := NewCommand(Options{Name: "acme-ccm", ProviderName: "acme", Provider: func(context.Context, ProviderDeps) (cloudprovider.Interface, error) {
		return looked{asked: stop}, nil
	}})
	var out, log bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&log)
	cmd.SetArgs([]string{
		"--shadow", "--master=" + server.URL, "--cluster-name=c", "--kube-api-content-type=application/json", "--use-service-account-credentials",
		"--secure-port=0", "--leader-elect", "--leader-elect-resource-lock=leases",
	})
	if err := cmd.ExecuteContext(ctx); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	var got shadow.Report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || bytes.Count(out.Bytes(), []byte("\n")) != 1 {
		t.Fatalf("the report is %q: %v", &out, err)
	}
	if diff := cmp.Diff([]string{"DELETE /api/v1/nodes/n"}, got.Refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	api.mu.Lock()
	defer api.mu.Unlock()
	if len(api.wrote) > 0 {
		t.Errorf("the API server got %q", api.wrote)
	}
}

// If the right to list one kind of objects is missing, the controllers that need
// these objects do not look. The others do.
func TestShadowGoesOnIfAKindCannotBeListed(t *testing.T) {
	api := &readableServer{
		nodes:  `{"metadata":{"name":"n","uid":"u"},"spec":{"taints":[{"key":"node.cloudprovider.kubernetes.io/uninitialized","effect":"NoSchedule"}]}}`,
		denied: "/certificatesigningrequests",
	}
	server := httptest.NewServer(api)
	defer server.Close()
	ctx, stop := context.WithTimeout(t.Context(), knownWithin/2) // shorter than knownWithin, after which a controller is logged as late
	defer stop()
	asked := false
	cmd := NewCommand(Options{Name: "acme-ccm", ProviderName: "acme", Provider: func(context.Context, ProviderDeps) (cloudprovider.Interface, error) {
		return looked{asked: sync.OnceFunc(func() { asked = true; stop() })}, nil
	}})
	var out, log bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&log)
	cmd.SetArgs([]string{
		"--shadow", "--master=" + server.URL, "--cluster-name=c", "--kube-api-content-type=application/json", "--secure-port=0",
		"--controllers=*,kubelet-serving-csr-controller",
	})
	if err := cmd.ExecuteContext(ctx); err != nil || !asked {
		t.Fatalf("the cloud was asked about the Node: %v; error %v\n%s", asked, err, &log)
	}
	var got shadow.Report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("the report is %q: %v", &out, err)
	}
	isBlind := func(what string) bool {
		return strings.HasPrefix(what, "kubelet-serving-csr-controller: the API server has not listed its objects; ")
	}
	if !slices.ContainsFunc(got.Idle, isBlind) {
		t.Errorf("not looked at: %q", got.Idle)
	}
}

// If a controller does not know its objects, this is logged once. The controller
// looks as soon as it knows them. If no controller knows its objects after two
// minutes, the process ends.
func TestShadowWaitsForEachController(t *testing.T) {
	for name, row := range map[string]struct {
		others int // controllers that know their objects
		ends   string
	}{
		"AnotherLooks": {1, ""},
		"NoneLooks":    {0, "no controller knows its objects after 2m0s: the API server has not listed its objects; it refuses GET /api/v1/services, because the user has no right to that"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, fail := context.WithCancelCause(t.Context())
				defer fail(nil)
				refused := &refusals{}
				refused.deny("GET /api/v1/services")
				began := time.Now()
				late := look{registration: registration{Controller: settings.Controller{Name: "late"}}, known: func() bool { return time.Since(began) > 10*time.Minute }}
				s := &shadowing{dryRun: &dryRun{process: &process{program: &program{dry: refused}, fail: fail}, planners: []look{late}}, blind: []string{"late"}}
				for range row.others {
					other := look{registration: registration{Controller: settings.Controller{Name: "other"}}, known: func() bool { return true }}
					s.planners, s.blind = append(s.planners, other), append(s.blind, "other")
					if !s.knows(ctx, other) || time.Since(began) > time.Second {
						t.Errorf("the other controller waits for %v", time.Since(began))
					}
				}
				knows := s.knows(ctx, late)
				ended := ""
				if ctx.Err() != nil {
					ended = context.Cause(ctx).Error()
				}
				if knows != (row.ends == "") || ended != row.ends || knows == slices.Contains(s.blind, "late") {
					t.Errorf("it knows its objects: %v; the process ends by %q; blind: %q", knows, ended, s.blind)
				}
			})
		})
	}
}

// Like the daemon, --shadow soon asks again about a Node after a failed call. An
// initialised Node waits for the next refresh.
func TestRetries(t *testing.T) {
	waits := step.Step{Effect: step.Wait, Do: "wait"}
	later, refreshed := waits, waits
	later.After, refreshed.Do = time.Minute, "nothing"
	for _, tt := range []struct {
		name       string
		controller string
		steps      []step.Step
		want       bool
	}{
		{"QuestionThatHasFailed", settings.NodeController, []step.Step{waits}, true},
		{"NodeThatWaitsForAMinute", settings.NodeController, []step.Step{later}, false},
		{"InitialisedNode", settings.NodeController, []step.Step{refreshed}, false},
		{"AnotherController", settings.RouteController, []step.Step{waits}, false},
		{"NodeThatIsGone", settings.NodeController, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := retries(tt.controller, tt.steps); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestPauseBetweenLooks(t *testing.T) {
	after := func(d time.Duration) step.Step { return step.Step{After: d} }
	for _, tt := range []struct {
		name  string
		steps []step.Step
		want  time.Duration
	}{
		{"GoneObjectIsNotLookedAt", nil, 0},
		{"NothingToWaitFor", []step.Step{after(0)}, lookAgain},
		{"TheRulesTime", []step.Step{after(time.Hour), after(10 * time.Second), after(0)}, 10 * time.Second},
		{"NotTooOften", []step.Step{after(1)}, leastPause},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := pause(tt.steps); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
