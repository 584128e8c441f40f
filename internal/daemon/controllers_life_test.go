package daemon

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// values returns the gauges that are not 0, and one line for each counter and histogram
// that is not 0.
func (e *everything) values(t *testing.T) (gauges map[string]float64, counted []string) {
	t.Helper()
	families, err := e.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	gauges = map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := []string{f.GetName()}
			for _, l := range m.GetLabel() {
				switch {
				case l.GetName() == "reason":
				case l.GetValue() == string(cloud.Unavailable): // Chance decides whether a call is made and fails, or is held back.
					labels = append(labels, l.GetName()+"="+string(cloud.Failed))
				default:
					labels = append(labels, l.GetName()+"="+l.GetValue())
				}
			}
			name := strings.Join(labels, " ")
			if m.GetGauge().GetValue() != 0 {
				gauges[name] += m.GetGauge().GetValue()
			}
			if m.GetCounter().GetValue() > 0 || m.GetHistogram().GetSampleCount() > 0 {
				counted = append(counted, name)
			}
		}
	}
	return gauges, slices.Compact(slices.Sorted(slices.Values(counted)))
}

// A daemon must not take a write that has failed for one that has succeeded.
func TestFailedWritesAreRepeated(t *testing.T) {
	want := statesAfter(t, nil)
	if diff := cmp.Diff(want, statesAfter(t, map[string]bool{})); diff != "" {
		t.Errorf("objects after some minutes (-without failures +if the first of two writes fails):\n%s", diff)
	}
}

// number matches what may differ between the runs: CIDRs, and how long something took.
var number = regexp.MustCompile(`\d+`)

// statesAfter returns the objects of the scenario after some minutes. If refused is not nil,
// the first of two writes fails.
func statesAfter(t *testing.T, refused map[string]bool) map[string]string {
	t.Helper()
	states := map[string]string{}
	synctest.Test(t, func(t *testing.T) {
		e := runAll(t)
		e.refused = refused
		e.create(t)
		e.after(recovery)
		e.reports(t)
		e.after(recovery)
		e.each(t, func(resource schema.GroupVersionResource, namespace, name string) {
			stored, err := e.client.Tracker().Get(resource, namespace, name)
			if err != nil {
				stored = nil // It is gone.
			}
			text, err := json.Marshal(stored)
			if err != nil {
				t.Error(err)
			}
			states[resource.Resource+" "+name] = number.ReplaceAllString(normalised(text), "#")
		})
	})
	return states
}

// each calls the function for each object of the scenario.
func (e *everything) each(t *testing.T, do func(resource schema.GroupVersionResource, namespace, name string)) {
	t.Helper()
	for _, o := range objects(t) {
		kinds, _, err := scheme.Scheme.ObjectKinds(o)
		if err != nil {
			t.Fatal(err)
		}
		resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
		do(resource, o.(metav1.Object).GetNamespace(), o.(metav1.Object).GetName())
	}
}

// passAll makes one more pass over each key of each controller.
func (e *everything) passAll() {
	for _, w := range e.workers {
		for _, l := range loopsOf(w) {
			for _, key := range w.Keys() {
				l.Add(key)
			}
		}
	}
}

// create creates the objects of the scenario.
func (e *everything) create(t *testing.T) {
	t.Helper()
	for _, o := range objects(t) {
		if err := e.client.Tracker().Add(o); err != nil {
			t.Fatal(err)
		}
		e.after(time.Second)
	}
}

// reports lets the kubelet of the Node "back" report that it is ready.
func (e *everything) reports(t *testing.T) {
	t.Helper()
	nodes := corev1.SchemeGroupVersion.WithResource("nodes")
	stored, err := e.client.Tracker().Get(nodes, "", "back")
	if err != nil {
		t.Fatal(err)
	}
	n := stored.DeepCopyObject().(*corev1.Node)
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			c.Status, c.LastHeartbeatTime = corev1.ConditionTrue, metav1.Now()
		}
	}
	if err := e.client.Tracker().Update(nodes, n, ""); err != nil {
		t.Fatal(err)
	}
}

// loopsOf returns the queues of a controller whose keys are those of the method Keys.
func loopsOf(w Worker) (loops []*loop.Loop) {
	c := reflect.ValueOf(w).Elem()
	for _, name := range []string{"Loop", "loop", "suspects", "passes"} {
		if f := c.FieldByName(name); f.IsValid() {
			loops = append(loops, *(**loop.Loop)(f.Addr().UnsafePointer()))
		}
	}
	return loops
}
