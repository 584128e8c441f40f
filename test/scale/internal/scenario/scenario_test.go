package scenario

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
)

func TestSelect(t *testing.T) {
	for name, row := range map[string]struct {
		names []string
		want  []string // nil: an error
	}{
		"NoneMeansAll": {nil, allNames()},
		"Some":         {[]string{"idle", "outage"}, []string{"idle", "outage"}},
		"Errors":       {[]string{"init"}, []string{"init", "init-text", "init-unreadable"}},
		"Family":       {[]string{"lies"}, []string{"lies-404-few", "lies-404-all", "lies-empty-list", "lies-half-list", "lies-half-list-few"}},
		"NoFamily":     {[]string{"removal"}, []string{"removal"}},
		"OneOfAFamily": {[]string{"lies-half-list"}, []string{"lies-half-list", "lies-half-list-few"}},
		"Unknown":      {[]string{"init", "remove"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			selected, err := Select(row.names)
			if (err != nil) != (row.want == nil) {
				t.Fatal(err)
			}
			var got []string
			for _, s := range selected {
				got = append(got, s.Name)
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

func TestWithErrors(t *testing.T) {
	var got []string
	for _, s := range WithErrors(All(), []Errors{Unreadable}) {
		if strings.Contains(s.Name, "init") || s.Name == "idle" {
			got = append(got, s.Name)
		}
	}
	if want := []string{"init-unreadable", "idle", "routes-init-unreadable"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A comparison is fair where the skeleton runs with its own defaults, and only
// how often Nodes are refreshed is the same for both.
func TestFlagsOfTheSkeleton(t *testing.T) {
	s := Settings{Nodes: 100, IdleFor: time.Minute}
	for _, scenario := range All() {
		theirs := scenario.Flags(s, contender.Skeleton)
		if len(theirs) > 0 && !slices.Equal(theirs, scenario.Flags(s, contender.Fairlead)) {
			t.Errorf("%s: the skeleton runs with %v", scenario.Name, theirs)
		}
	}
}

func TestSpread(t *testing.T) {
	var all []simulator.Instance
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		all = append(all, simulator.Instance{ID: id})
	}
	for size, want := range map[int]string{1: "a", 2: "ad", 3: "ace", 6: "abcdef"} {
		var ids strings.Builder
		for _, i := range spread(all, size) {
			ids.WriteString(i.ID)
		}
		if got := ids.String(); got != want {
			t.Errorf("%d of 6: got %s, want %s", size, got, want)
		}
	}
}
