package dryrun

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/daemon"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
)

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
				late := look{Looker: daemon.Looker{Name: "late"}, known: func() bool { return time.Since(began) > 10*time.Minute }}
				s := &shadowing{dryRun: &dryRun{refused: refused, lookers: []look{late}}, fail: fail, blind: []string{"late"}}
				for range row.others {
					other := look{Looker: daemon.Looker{Name: "other"}, known: func() bool { return true }}
					s.lookers, s.blind = append(s.lookers, other), append(s.blind, "other")
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
