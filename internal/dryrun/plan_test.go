package dryrun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/daemon"
)

// answers is a function that returns a controller's answer for a key. It also gets the
// number of its call for this key, starting at 1.
type answers func(key string, time int) ([]step.Step, error)

// of returns a value of type look for each key. Each of these values has a controller
// that calls a to get its answers.
func (a answers) of(kind string, keys ...string) (looks []*look) {
	for _, key := range keys {
		times := 0
		looks = append(looks, &look{key: key, Looker: daemon.Looker{Kind: kind, Worker: asked{plan: func(key string) ([]step.Step, error) {
			times++
			return a(key, times)
		}}}})
	}
	return looks
}

// asked is a controller that can only be asked for its plan.
type asked struct {
	daemon.Worker

	plan func(key string) ([]step.Step, error)
}

func (a asked) Plan(_ context.Context, key string) ([]step.Step, error) { return a.plan(key) }

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
	if err := d.report.Print(&out, false); err != nil {
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
	got, err := json.MarshalIndent(&d.report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), string(got)+"\n"); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}
