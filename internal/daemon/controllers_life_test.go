package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fairlead-k8s/fairlead/internal/golden"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// aboutObject matches what the controllers remember of the objects that wait for long.
var aboutObject = regexp.MustCompile(`^[^\[]*(memor|remembered)[^\[]*\[(uid-|ns/)?(back|held|later|waits)\](\.\w+)*$`)

// What a pass without work forgot would be written, asked or reported again.
func TestMemorySurvivesPassesWithoutWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := runAll(t)
		e.create(t)
		for i := range 8 {
			e.after(53 * time.Second)
			if i == 5 {
				e.reports(t)
			}
			e.passAll()
			synctest.Wait()
		}
		var text strings.Builder
		for _, path := range slices.Sorted(maps.Keys(e.remembered())) {
			if aboutObject.MatchString(path) {
				text.WriteString(path + "\n")
			}
		}
		golden.Compare(t, "testdata/remembered.txt", text.String(), "what the controllers remember")
	})
}

// mayStay matches what is about the provider, or about the rate of deletions.
var mayStay = regexp.MustCompile(`\.confirmed\[test\]|\.ledger\.deleted\[`)

func TestNothingIsLeftOfObjectsThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := runAll(t)
		e.after(time.Minute)
		before := e.remembered()
		gaugesBefore, _ := e.values(t)
		e.create(t)
		e.after(recovery)
		e.reports(t)
		e.after(10 * time.Minute)
		e.each(t, func(resource schema.GroupVersionResource, namespace, name string) { // as if their finalizers had been removed
			if err := e.client.Tracker().Delete(resource, namespace, name); err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		})
		e.after(2 * time.Hour)
		for path := range e.remembered() {
			if !before[path] && strings.HasSuffix(path, "]") && !mayStay.MatchString(path) {
				t.Errorf("%s is still there", path)
			}
		}
		gauges, counted := e.values(t)
		if diff := cmp.Diff(gaugesBefore, gauges); diff != "" {
			t.Errorf("gauges (-before the objects existed +after they are gone):\n%s", diff)
		}
		golden.Compare(t, "testdata/counted.txt", strings.Join(counted, "\n")+"\n", "the metrics that the lives of these objects move")
	})
}

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
				if l.GetName() != "reason" {
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

// remembered returns the paths to all values but zero that the controllers remember.
func (e *everything) remembered() map[string]bool {
	paths := map[string]bool{}
	for name, w := range e.workers {
		walk(paths, name, reflect.ValueOf(w).Elem())
	}
	return paths
}

// walk adds the paths to all values but zero that can be reached from v. It enters the
// types of controllers only.
func walk(paths map[string]bool, path string, v reflect.Value) {
	if v.IsZero() {
		return
	}
	of := v.Type()
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch isOurs := of.PkgPath() == "" || strings.Contains(of.PkgPath(), "/internal/controller/"); {
	case v.Kind() == reflect.Pointer && isOurs:
		walk(paths, path, v.Elem())
	case v.Kind() == reflect.Struct && isOurs:
		for i := range v.NumField() {
			walk(paths, path+"."+of.Field(i).Name, v.Field(i))
		}
	case isOurs && (v.Kind() == reflect.Map || v.Kind() == reflect.Slice):
		for key, e := range v.Seq2() {
			at := fmt.Sprintf("%s[%v]", path, key)
			paths[at] = true
			walk(paths, at, e)
		}
	default:
		paths[path] = true
	}
}
