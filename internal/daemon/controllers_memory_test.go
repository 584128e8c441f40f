//go:build !race

package daemon

import (
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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-k8s/fairlead/internal/golden"
)

// These tests read by reflection, without locks, what running controllers write. make
// generate runs them, in CI, too.

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
			if aboutObject.MatchString(path) && !strings.HasSuffix(path, ".mayExist") { // Chance decides whether a call was held back.
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
