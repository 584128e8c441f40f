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
		"Some":         {[]string{"idle", "failover"}, []string{"idle", "idle-plain", "failover"}},
		"Variants":     {[]string{"init"}, []string{"init", "init-plain"}},
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

func TestRestrict(t *testing.T) {
	for name, row := range map[string]struct {
		fastPaths []FastPaths
		want      []string // of init, idle, removal and routes-init
	}{
		"Nothing": {nil, []string{"init", "init-plain", "idle", "idle-plain", "removal", "routes-init", "routes-init-plain"}},
		"On":      {[]FastPaths{On}, []string{"init", "idle", "removal", "routes-init"}},
	} {
		t.Run(name, func(t *testing.T) {
			some, err := Select([]string{"init", "idle", "removal", "routes-init"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range Restrict(some, row.fastPaths) {
				got = append(got, s.Name)
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

// Names are unique, because the folder of a trial and the row of a result have the
// name of the scenario.
func TestNamesAreUnique(t *testing.T) {
	names := allNames()
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) {
		t.Errorf("a name is there twice: %v", names)
	}
}

func TestSizes(t *testing.T) {
	large := Settings{Nodes: 5000, Services: 500, IdleFor: time.Minute, Quota: 100, Burst: 200, Latency: 30 * time.Millisecond}
	for name, want := range map[string][2]int{
		"init": {5000, 500}, "scale-10": {500, 500}, "scale-40-plain": {2000, 500}, "outage": {5000, 500},
		"lies-404-all": {500, 500}, "routes-init-plain": {1000, 500}, "services-create": {500, 500}, "services-restart": {500, 100},
		"quota-ec2": {300, 20}, "list-cache": {1000, 500}, "spot-storm-10": {10, 500}, "mass-removal": {500, 500}, "last-of-a-region": {31, 500},
	} {
		some, err := Select([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if got := some[0].sized(large); got.Nodes != want[0] || got.Services != want[1] {
			t.Errorf("%s: %d Nodes and %d Services, want %v", name, got.Nodes, got.Services, want)
		}
	}
	if got := large.quotaNeeds(5000); got != 48*time.Second {
		t.Errorf("5,000 calls take %v", got)
	}
	if got := (Settings{Quota: 100, Burst: 200}).quotaNeeds(100); got != 0 {
		t.Errorf("a burst takes %v", got)
	}
}

// Among the trials that mostly wait, the longest begin first.
func TestPlan(t *testing.T) {
	some, err := Select([]string{"init", "idle", "services-create"})
	if err != nil {
		t.Fatal(err)
	}
	b := Bench{Settings: Settings{Nodes: 5000, Services: 5, Quota: 100, Burst: 200}}
	contenders := []contender.Name{contender.Fairlead, contender.Skeleton}
	todo, rows := b.plan(some, contenders)
	if n := Count(some, contenders); len(rows) != n || len(todo.alone)+len(todo.quiet)+len(todo.waiting) != n {
		t.Errorf("%d rows for %d runs: %+v", len(rows), n, todo)
	}
	for name, row := range map[string]struct {
		jobs []job
		want []string
	}{
		"Alone": {todo.alone, []string{"init/fairlead", "init-plain/fairlead"}},
		"Quiet": {todo.quiet, []string{"services-create/fairlead"}},
		"Waiting": {todo.waiting, []string{
			"init/skeleton", "idle/skeleton", "idle/fairlead", "idle-plain/fairlead", "services-create/skeleton",
		}},
	} {
		var got []string
		for _, j := range row.jobs {
			got = append(got, j.String())
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
}

// For a fair comparison, the skeleton runs with its own defaults. If the skeleton
// gets a flag, Fairlead gets the same flag.
func TestFlagsOfTheSkeleton(t *testing.T) {
	s := Settings{Nodes: 100, IdleFor: time.Minute, Quota: 100}
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
