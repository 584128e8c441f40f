package nodelifecycle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// Another client keeps writing the condition back to True after the Node has reported
// again. The daemon answers once in five minutes.
func TestConditionThatAClientWritesBackIsRarelyPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n1 := old("n1", reports, says(corev1.ConditionTrue, "NoWitness", time.Minute))
		r := beginRemovals(t, DefaultLimits(), aliveAnd(n1)...)
		defer func() { r.stop() }()
		patches := 0
		r.on("patch", func(clienttesting.Action) (bool, runtime.Object, error) { patches++; return false, nil, nil })
		for range 10 * 60 {
			r.after(time.Second)
			r.update("n1", reports, says(corev1.ConditionTrue, "NoWitness", time.Minute))
		}
		if patches < 1 || patches > 3 {
			t.Errorf("%d patches in ten minutes, want 1 to 3", patches)
		}
	})
}

// A write that has failed does not count as one that another client has changed.
func TestConditionIsWrittenSoonAfterAFailedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), old("n1", says(corev1.ConditionFalse, "InstanceFound", time.Hour)))
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		tries := 0
		r.on("patch", func(clienttesting.Action) (bool, runtime.Object, error) {
			tries++
			return tries == 1, nil, apierrors.NewInternalError(errors.New("once"))
		})
		r.after(5 * time.Minute)
		node, err := r.cluster.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if c := nodefact.Condition(node, ConditionMissing); c == nil || c.Status != corev1.ConditionTrue {
			t.Errorf("condition %v after %d tries, want True", c, tries)
		}
	})
}

// The informer can show a Node that is gone for a while. Each final check then reads the
// Node in vain, so it is not repeated at once.
func TestFinalCheckOfANodeThatIsGoneIsNotRepeatedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		defer func() { r.stop() }()
		r.change(func() { r.absent["n1"] = true })
		reads := 0
		r.on("get", func(clienttesting.Action) (bool, runtime.Object, error) {
			if reads++; reads > 1000 {
				return false, nil, nil // Otherwise the loop would never wait.
			}
			return true, nil, apierrors.NewNotFound(nodesResource, "n1")
		})
		r.after(90 * time.Second)
		if reads < 1 || reads > 61 {
			t.Errorf("%d reads in a minute, want one in a second at most", reads)
		}
	})
}

// A stop of the process cuts off the call that deletes a Node. The Node does not show
// this as a failure, because the next leader goes on.
func TestDeletionThatAStopCutsOffShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd(old("n1"))...)
		r.change(func() { r.absent["n1"] = true })
		stopped := make(chan struct{})
		patches := 0
		r.on("patch", func(clienttesting.Action) (bool, runtime.Object, error) { patches++; return false, nil, nil })
		r.on("delete", func(clienttesting.Action) (bool, runtime.Object, error) {
			go func() {
				r.stop()
				close(stopped)
			}()
			r.mu.Unlock()
			time.Sleep(time.Second) // until the context has ended
			r.mu.Lock()
			return true, nil, context.Canceled
		})
		<-stopped
		r.expectEvents("n1 NodeDeletionHeld AbsenceUnconfirmed")
		if patches > 0 {
			t.Errorf("%d patches, want none", patches)
		}
	})
}

// The metrics count what a real pass does, and forget a Node that is gone or that exists.
func TestMetricsOfPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), old("alien"), old("n1", providerID("q://n1")), old("back", providerID("q://back")), old("w1", reports, providerID("q://w1")))
		defer func() { r.stop() }()
		registry := metrics.NewKubeRegistry()
		m := r.tested.metrics
		registry.MustRegister(m.deleted, m.calls, m.duration)
		registry.CustomMustRegister(m.held)
		r.change(func() { r.absent["alien"], r.absent["n1"], r.absent["back"] = true, true, true })
		r.after(20 * time.Second)
		r.change(func() { r.absent["back"] = false })
		r.after(40 * time.Second)
		compare := func(want string, names ...string) {
			t.Helper()
			if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
				t.Error(err)
			}
		}
		compare(`# HELP fairlead_node_deletions_total [ALPHA] Nodes deleted because their instances no longer exist
# TYPE fairlead_node_deletions_total counter
fairlead_node_deletions_total 1
`, "fairlead_node_deletions_total")
		compare(`# HELP fairlead_node_deletions_held [ALPHA] Silent Nodes that are not deleted, by the reason in their events
# TYPE fairlead_node_deletions_held gauge
fairlead_node_deletions_held{reason="ForeignProviderID"} 1
`, "fairlead_node_deletions_held")
		found, err := testutil.GetCounterMetricValue(m.calls.WithLabelValues(string(callExists), "success"))
		denied, err2 := testutil.GetCounterMetricValue(m.calls.WithLabelValues(string(callExists), "instance_not_found"))
		if int(found+denied) != len(r.asked) || found == 0 || denied == 0 || errors.Join(err, err2) != nil {
			t.Errorf("%v of %d questions are counted as found, %v as denied, errors %v, %v", found, len(r.asked), denied, err, err2)
		}
		if n, err := testutil.GetCounterMetricValue(m.calls.WithLabelValues(string(callShutdown), "success")); n == 0 || err != nil {
			t.Errorf("%v questions about the power are counted, error %v", n, err)
		}
		if n, err := testutil.GetHistogramMetricCount(m.duration.ObserverMetric); n == 0 || err != nil {
			t.Errorf("the duration of %d passes is known, error %v", n, err)
		}
		if err := r.cluster.CoreV1().Nodes().Delete(t.Context(), "alien", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{}}); err != nil {
			t.Fatal(err)
		}
		r.after(time.Minute)
		compare("", "fairlead_node_deletions_held")
	})
}
