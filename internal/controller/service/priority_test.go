package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

func TestNewServicesGoBeforeUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, append(twenty(), host("a"))...)
		defer func() { l.stop() }()
		l.after(time.Hour)
		l.change(func() { l.calls, l.takes = nil, 10*time.Second })
		l.create(host("b"))
		l.after(15 * time.Second)
		l.create(balanced(named("new")))
		l.after(time.Hour)
		if at := slices.Index(l.calls, "ensure new"); at < 0 || at > 3 {
			t.Errorf("calls %v, want the new Service before the updates that wait", l.calls)
		}
		if !slices.ContainsFunc(l.events, func(e string) bool { return strings.HasSuffix(e, " LoadBalancerQueued") }) {
			t.Errorf("events %v, want an event for a Service that waits for long", l.events)
		}
	})
}

func TestServiceWithSlowCallsDoesNotKeepAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.calls, l.takes = nil, 5*time.Minute })
		for n := range 15 { // each Node joins during the update for the Node before it
			l.create(host(fmt.Sprint("n", n)))
			if n == 5 {
				l.create(balanced(named("new")))
			}
			l.after(3 * time.Minute)
			if err := l.controller.Stuck(15 * time.Minute); err != nil {
				t.Error(err)
			}
		}
		l.after(time.Hour)
		if at := slices.Index(l.calls, "ensure new"); at < 0 || at > 5 {
			t.Errorf("calls %v, want the new Service to be served early", l.calls)
		}
		if got := len(l.balancers["u1"]); got != 16 {
			t.Errorf("%d backends, want 16", got)
		}
	})
}

func TestNewServiceThatIsRetriedGoesBeforeUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, append(twenty(), host("a"))...)
		defer func() { l.stop() }()
		l.after(time.Hour)
		again := &cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.Pending, RetryAfter: 15 * time.Second, Err: errors.New("pending")}
		l.change(func() {
			l.calls, l.takes = nil, 10*time.Second
			l.fail = func(call string) error {
				if call == "ensure new" && len(l.calls) < 8 {
					return again
				}
				return nil
			}
		})
		l.create(host("b"))
		l.after(15 * time.Second)
		l.create(balanced(named("new")))
		l.after(3 * time.Minute)
		if s, err := l.cluster.CoreV1().Services("ns").Get(t.Context(), "new", metav1.GetOptions{}); err != nil || len(s.Status.LoadBalancer.Ingress) == 0 {
			t.Errorf("calls %v, want the new Service to be ready (%v) before the updates that wait", l.calls, err)
		}
	})
}
