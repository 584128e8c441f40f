package service

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// Some providers check the Service before they delete anything, or fail if there is
// nothing to delete.
func TestDeletionOfAServiceThatNeverGotALoadBalancer(t *testing.T) {
	rejects := func(call string) error {
		if strings.HasPrefix(call, "find") {
			return nil
		}
		return &cloud.Error{Kind: cloud.Invalid, Err: errors.New("source ranges are not supported")}
	}
	outage := func(string) error { return &cloud.Error{Kind: cloud.Unavailable, Err: errors.New("503")} }
	for name, tt := range map[string]struct {
		begins func(l *life)
		hides  bool
		gone   bool
	}{
		"IsReleased":                   {begins: func(*life) {}, gone: true},
		"IsReleasedAfterARestart":      {begins: func(l *life) { l.stop(); l.start() }, gone: true},
		"IsReleasedDuringTheFirstCall": {begins: func(l *life) { l.update(edited); l.after(500 * time.Millisecond) }, gone: true},
		"StaysIfItEverHadOne": {begins: func(l *life) {
			l.change(func() { l.fail = func(string) error { return nil } })
			l.after(10 * time.Minute)
			l.change(func() { l.fail = rejects })
		}, hides: true},
		"StaysIfItHadOneBeforeARestart": {begins: func(l *life) {
			l.change(func() { l.fail, l.address = func(string) error { return nil }, "" })
			l.after(10 * time.Minute)
			l.stop()
			l.change(func() { l.fail = rejects })
			l.start()
		}, hides: true},
		"StaysIfAnEnsureWasCutOff": {begins: func(l *life) {
			l.change(func() { l.takes = time.Minute })
			l.create(balanced(named("other")))
			l.after(30 * time.Second)
			l.stop()
			l.change(func() { l.takes = time.Second })
			l.update(func(s *corev1.Service) { s.Status.Conditions[0].Reason = "Ensuring" })
			l.start()
		}, hides: true},
		"StaysIfTheCloudDidNotAnswer": {begins: func(l *life) {
			l.change(func() { l.fail = outage })
			l.after(10 * time.Minute)
			l.change(func() { l.fail = rejects })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, host("a"))
				defer func() { l.stop() }()
				l.change(func() { l.fail, l.hides = rejects, tt.hides })
				l.create(balanced())
				l.after(time.Minute)
				tt.begins(l)
				l.update(terminating)
				l.after(time.Hour)
				s, err := l.cluster.CoreV1().Services("ns").Get(t.Context(), "s", metav1.GetOptions{})
				if isGone := err != nil; isGone != tt.gone {
					t.Fatalf("gone: %v, want %v; %+v, calls %v", isGone, tt.gone, s, l.calls)
				}
				if tt.gone {
					if !slices.Contains(l.events, "s LoadBalancerNeverMade") {
						t.Errorf("events %v", l.events)
					}
					l.change(func() { l.calls = nil })
					l.after(time.Hour)
					if len(l.calls) > 0 {
						t.Errorf("calls %v after the release", l.calls)
					}
					return
				}
				if c := findCondition(s, ConditionProvisioning); !strings.Contains(c.Message, "remove the finalizer") {
					t.Errorf("condition %+v, want the way out", c)
				}
			})
		})
	}
}
