package service

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

func TestStateIsWrittenBeforeEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		expect := func(when string, want ...string) {
			t.Helper()
			l.change(func() {
				if !slices.Equal(l.writes, want) {
					t.Errorf("%s: written %v, want %v", when, l.writes, want)
				}
				l.writes = nil
			})
		}
		l.change(func() { l.fail = func(string) error { return errors.New("no") } })
		l.after(3 * time.Second)
		expect("a call fails", "patch", "EnsuringLoadBalancer", "patch", "SyncLoadBalancerFailed")
		l.change(func() { l.fail = func(string) error { return nil } })
		l.after(time.Minute)
		expect("it succeeds", "EnsuredLoadBalancer", "patch")
		l.update(func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = nil })
		l.after(time.Second)
		expect("the address is put back", "patch", "LoadBalancerStatusContested")
		l.change(func() {
			l.refuse = apierrors.NewForbidden(corev1.Resource("services"), "s", errors.New("a webhook says no"))
			l.fail = func(string) error { return errors.New("no") }
		})
		l.update(edited)
		l.after(1200 * time.Millisecond)
		l.change(func() { l.writes = l.writes[:min(len(l.writes), 3)] }) // Later writes are retries of the patch.
		expect("the patch is rejected", "EnsuringLoadBalancer", "patch", "SyncLoadBalancerFailed")
	})
}

// An error may quote what a tenant has written, at each call.
func TestErrorsAreCutInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		var log bytes.Buffer
		ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
		err := errors.New("the annotation is wrong: " + strings.Repeat("a", 8000))
		l.controller.conclude(ctx, "ns/s", plan{do: ensure, service: balanced()}, called{outcomeOf(ensure, nodeSet{}, err, time.Now()), err, time.Second, nil})
		if text := log.String(); !strings.Contains(text, "the annotation is wrong") || len(text) > 1500 {
			t.Errorf("%d bytes of log: %s", len(text), text)
		}
	})
}

func TestRefusedRepairIsRepeated(t *testing.T) {
	for name, tamper := range map[string]func(*corev1.Service){
		"Finalizer": func(s *corev1.Service) { s.Finalizers = nil },
		"Address":   func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, balanced(), host("a"))
				defer func() { l.stop() }()
				l.after(time.Minute)
				l.change(func() { l.events, l.calls, l.refuse = nil, nil, errors.New("the API server is busy") })
				l.update(tamper)
				l.after(10 * time.Second)
				l.change(func() { l.refuse = nil })
				l.after(time.Minute)
				if s := l.service(); !hasFinalizer(s) || len(s.Status.LoadBalancer.Ingress) == 0 {
					t.Errorf("finalizers %v, status %+v", s.Finalizers, s.Status)
				}
				l.change(func() { l.calls = nil }) // The provider may be asked about the address or not.
				l.expect("put back", nil, list("s SyncLoadBalancerFailed", "s LoadBalancerStatusContested"))
			})
		})
	}
}

func TestConditionThatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() {
			l.refuse = errors.New("the API server is busy")
			l.fail = func(string) error { return errors.New("no") }
		})
		l.update(edited)
		l.after(10 * time.Second)
		l.change(func() { l.refuse = nil })
		l.after(30 * time.Second)
		if c := findCondition(l.service(), ConditionProvisioning); c.Status != metav1.ConditionTrue {
			t.Errorf("condition %+v", c)
		}
	})
}

func TestAddressIsRepairedOnceInThePauseAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.stop()
		l.start()
		l.after(time.Minute)
		patches := l.patches()
		for range 3 {
			l.update(func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = nil })
			l.after(time.Minute)
		}
		if got := l.patches() - patches; got != 1 {
			t.Errorf("put back %d times in three minutes, want once", got)
		}
	})
}

func TestRejectedWriteIsRecordedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, host("a"))
		defer func() { l.stop() }()
		l.change(func() {
			l.refuse = apierrors.NewForbidden(corev1.Resource("services"), "s", errors.New("a webhook says no"))
		})
		l.create(balanced())
		l.after(10 * time.Minute)
		l.expect("refused", nil, list("s SyncLoadBalancerFailed"))
		l.change(func() { l.refuse = nil })
		l.after(10 * time.Minute)
		l.expect("accepted", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
	})
}

func TestFinalizerThatIsRemovedAgainAndAgainIsNotPutBackEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.fail = func(string) error { return errors.New("no") } })
		for range 60 {
			l.after(10 * time.Second)
			l.update(func(s *corev1.Service) { s.Finalizers = nil })
		}
		if got := l.patches(); got > 10 {
			t.Errorf("%d patches in ten minutes", got)
		}
		l.change(func() { l.fail = func(string) error { return nil } })
		l.after(10 * time.Minute)
		if s := l.service(); !hasFinalizer(s) || len(s.Status.LoadBalancer.Ingress) == 0 {
			t.Errorf("finalizers %v, status %+v", s.Finalizers, s.Status)
		}
	})
}

func TestConditionsThatAreRemovedAgainAndAgainAreNotPutBackEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		for range 60 {
			l.update(func(s *corev1.Service) { s.Status.Conditions = nil })
			l.after(10 * time.Second)
		}
		if got := l.patches(); got > 10 {
			t.Errorf("%d patches in ten minutes", got)
		}
		l.after(10 * time.Minute)
		if s := l.service(); len(ownConditions(s)) != 2 {
			t.Errorf("status %+v", s.Status)
		}
	})
}
