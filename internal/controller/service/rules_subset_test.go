package service

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestChoiceIsAWordOrANumber(t *testing.T) {
	for text, want := range map[string]Choice{"all": {}, "endpoints": {Endpoints: true}, "1": {Most: 1}, "25": {Most: 25}} {
		if got, err := ParseChoice(text); got != want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "2.5", "many", "All"} {
		if got, err := ParseChoice(text); err == nil {
			t.Errorf("%q is %+v, want an error", text, got)
		}
	}
}

func chooses(value string) func(*corev1.Service) {
	return func(s *corev1.Service) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, AnnotationBackends, value) }
}

func local(s *corev1.Service) {
	s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
}

func TestAnnotationReplacesTheFlag(t *testing.T) {
	const unread = " needs the endpoints of the Service, which the daemon reads only with --service-backends=endpoints or a number"
	for _, tt := range []struct {
		name    string
		flag    Choice
		service *corev1.Service
		known   bool // whether the endpoints are
		want    Choice
		refused string
	}{
		{name: "FlagDecides", flag: Choice{Most: 3}, service: balanced(), known: true, want: Choice{Most: 3}},
		{name: "AnnotationDecides", flag: Choice{Endpoints: true}, service: balanced(chooses("9")), known: true, want: Choice{Most: 9}},
		{name: "AnnotationAsksForAll", flag: Choice{Most: 3}, service: balanced(chooses("all")), known: true},
		{name: "BadValueMeansTheFlag", flag: Choice{Most: 3}, service: balanced(chooses("x")), known: true, want: Choice{Most: 3}, refused: `"x" must be all, endpoints or a number of at least 1`},
		{name: "NumberNeedsNoEndpoints", service: balanced(chooses("9")), want: Choice{Most: 9}},
		{name: "UnknownEndpointsAreNotChosen", service: balanced(chooses("endpoints")), refused: `"endpoints"` + unread},
		{name: "UnknownEndpointsOfALocalServiceMeanTheFlag", service: balanced(chooses("9"), local), refused: `"9"` + unread},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, refused := Subset{Choice: tt.flag}.chosen(tt.service, tt.known)
			if got != tt.want || refused != tt.refused {
				t.Errorf("%+v, refused %q, want %+v, refused %q", got, refused, tt.want, tt.refused)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	ago := func(d time.Duration) place { return place{lost: noon.Add(-d)} }
	for _, tt := range []struct {
		name  string
		was   places
		found map[string]bool
		want  places
		later time.Duration
	}{
		{"EachEndpointCounts", nil, map[string]bool{"a": true, "b": false}, places{"a": {ready: true}, "b": {}}, 0},
		{"NodeWithoutEndpointsStaysForAMinute", places{"a": {ready: true}}, map[string]bool{"b": true}, places{"a": ago(0), "b": {ready: true}}, stays},
		{
			"FirstOfSeveralDecidesWhenToLook",
			places{"a": ago(20 * time.Second), "b": ago(10 * time.Second), "c": ago(15 * time.Second)},
			map[string]bool{"d": true},
			places{"a": ago(20 * time.Second), "b": ago(10 * time.Second), "c": ago(15 * time.Second), "d": {ready: true}},
			40 * time.Second,
		},
		{"ThenItLeaves", places{"a": ago(stays), "b": {}}, map[string]bool{"b": true}, places{"b": {ready: true}}, 0},
		{"EndpointThatComesBackStays", places{"a": ago(stays / 2)}, map[string]bool{"a": false}, places{"a": {}}, 0},
		{"LastEndpointLeavesNothingToDo", places{"a": {ready: true}, "b": ago(stays)}, nil, places{"a": {ready: true}, "b": ago(stays)}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := seat{places: tt.was}.located(tt.found, noon)
			if fmt.Sprint(s.places) != fmt.Sprint(tt.want) || s.later != tt.later {
				t.Errorf("%v, later %v, want %v, later %v", s.places, s.later, tt.want, tt.later)
			}
			if again := s.located(tt.found, noon); !again.placed.Equal(s.placed) {
				t.Error("places that stay the same count as new ones")
			}
		})
	}
}

func TestMembers(t *testing.T) {
	zoned := func(name, zone string) *corev1.Node {
		return host(name, func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelTopologyZone: zone} })
	}
	nodes := []*corev1.Node{zoned("a", "1"), zoned("b", "1"), zoned("c", "1"), zoned("d", "1"), zoned("e", "2")}
	of := func(ready, others string) places {
		all := places{}
		for n, is := range ready + others {
			all[string(is)] = place{ready: n < len(ready)}
		}
		return all
	}
	for _, tt := range []struct {
		name   string
		choice Choice
		limit  int
		places places
		local  bool
		want   []string // if only their number matters, the others are "*"
	}{
		{name: "NumberHasEachZone", choice: Choice{Most: 2}, want: list("*", "e")},
		{name: "NumberIsLarge", choice: Choice{Most: 9}, want: list("a", "b", "c", "d", "e")},
		{name: "LimitIsSmallerThanTheNumber", choice: Choice{Most: 4}, limit: 2, want: list("*", "e")},
		{name: "LimitIsLargerThanTheNumber", choice: Choice{Most: 2}, limit: 4, want: list("*", "e")},
		{name: "NumberOfALocalServiceMeansItsEndpoints", choice: Choice{Most: 2}, local: true, places: of("acd", ""), want: list("a", "c", "d")},
		{name: "Endpoints", choice: Choice{Endpoints: true}, places: of("a", "c"), want: list("a", "c")},
		{name: "EndpointOnANodeThatIsNotUsable", choice: Choice{Endpoints: true}, places: of("ax", "y"), want: list("a")},
		{name: "NoEndpointOnAUsableNode", choice: Choice{Endpoints: true}, places: of("x", ""), want: list("*", "*", "e")},
		{name: "NoEndpointAndALimit", choice: Choice{Endpoints: true}, limit: 2, want: list("*", "e")},
		{name: "ReadyEndpointsComeFirst", choice: Choice{Endpoints: true}, limit: 2, places: of("ab", "cde"), want: list("a", "b")},
		{name: "ReadyEndpointsFillTheLimit", choice: Choice{Endpoints: true}, limit: 2, places: of("bcde", "a"), want: list("*", "e")},
		{name: "OthersGetTheRoomThatIsLeft", choice: Choice{Endpoints: true}, limit: 3, places: of("a", "cde"), want: list("a", "*", "e")},
		{name: "LimitHasRoomForAll", choice: Choice{Endpoints: true}, limit: 4, places: of("a", "c"), want: list("a", "c")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			service := balanced()
			if tt.local {
				local(service)
			}
			r := membershipOf(BackendPolicy{Subset: Subset{Limit: tt.limit}}, nodes...)
			got := r.of(seat{choice: tt.choice, follows: tt.choice.needsEndpoints(service), places: tt.places}, service.UID)
			names := got.names()
			isSame := slices.EqualFunc(names, tt.want, func(is, want string) bool { return is == want || want == "*" })
			if !isSame || !slices.IsSorted(names) || (got.id == r.set.id) != (len(names) == len(nodes)) {
				t.Errorf("members %v, want %v", names, tt.want)
			}
		})
	}
}

// fleet has the usable Nodes and their members, for TestSpread.
type fleet struct {
	nodes    []*corev1.Node
	services []*corev1.Service
	most     int
	sets     []map[types.UID]bool
	changed  int // the number of members that were replaced
	updates  int // the number of sets that have changed
}

func (f *fleet) node(zone int) *corev1.Node {
	name := fmt.Sprintf("node-%05d-%d", len(f.nodes), f.changed)
	return host(name, func(n *corev1.Node) {
		n.Labels = map[string]string{corev1.LabelTopologyZone: fmt.Sprint("zone-", zone)}
	})
}

// after makes the sets after an event.
func (f *fleet) after(t *testing.T, what string) {
	t.Helper()
	all, zones, every := make([]trait, len(f.nodes)), map[string]bool{}, make([]int, len(f.nodes))
	for at, node := range f.nodes {
		all[at], every[at] = traitOf(node), at
		zones[all[at].zone] = true
	}
	for n, service := range f.services {
		set, in := map[types.UID]bool{}, map[string]bool{}
		for _, at := range spread(every, all, hashOf(string(service.UID)), f.most) {
			set[f.nodes[at].UID], in[all[at].zone] = true, true
		}
		if len(in) < min(len(zones), f.most) || len(set) != min(f.most, len(f.nodes)) {
			t.Fatalf("%s: set %d has %d Nodes of %d zones, want %d of all %d", what, n, len(set), len(in), f.most, len(zones))
		}
		joined, left := 0, 0
		for uid := range set {
			if !f.sets[n][uid] {
				joined++
			}
		}
		for uid := range f.sets[n] {
			if !set[uid] {
				left++
			}
		}
		if f.sets[n] != nil {
			if joined > 1 || left > 1 {
				t.Fatalf("%s: %d Nodes join set %d, and %d leave, want one at most", what, joined, n, left)
			}
			f.changed += joined
			f.updates += max(joined, left)
		}
		f.sets[n] = set
	}
}

func newFleet(nodes, services, most, zones int) *fleet {
	f := &fleet{most: most, sets: make([]map[types.UID]bool, services)}
	for n := range nodes {
		f.nodes = append(f.nodes, f.node(n%zones))
	}
	for n := range services {
		f.services = append(f.services, balanced(named(fmt.Sprint("s-", n))))
	}
	return f
}

// 500 Services have 25 of 5,000 Nodes each. A Node that joins or leaves changes 2.5 sets on
// average, and each of them by one Node. Each set has all zones, also one with a single Node.
func TestSpread(t *testing.T) {
	const events = 60
	f := newFleet(5000, 500, 25, 5)
	f.nodes = append(f.nodes, f.node(5))
	f.after(t, "at first")
	for event := range events {
		if event%2 == 0 {
			f.nodes = append(f.nodes, f.node(event%5))
		} else {
			f.nodes = slices.Delete(f.nodes, event*83, event*83+1)
		}
		f.after(t, fmt.Sprint("event ", event))
	}
	t.Logf("%.1f updates for each Node that joins or leaves", float64(f.updates)/events)
	if f.updates > 5*events {
		t.Errorf("%d updates for %d Nodes that join or leave, want 2.5 for each, and 5 at most", f.updates, events)
	}
}

// When all Nodes are replaced one by one, each member is replaced a little less than twice on
// average: when a new Node takes its place, or when it leaves.
func TestRollingReplacement(t *testing.T) {
	const nodes, services, most, zones = 100, 500, 25, 3
	f := newFleet(nodes, services, most, zones)
	f.after(t, "at first")
	for n := range nodes {
		f.nodes = append(f.nodes, f.node(n%zones))
		f.after(t, fmt.Sprint("a Node joins for ", n))
		f.nodes = f.nodes[1:]
		f.after(t, fmt.Sprint("Node leaves: ", n))
	}
	t.Logf("%d members are replaced, of %d", f.changed, most*services)
	if limit := 2 * most * services; f.changed > limit {
		t.Errorf("%d members are replaced, want %d at most", f.changed, limit)
	}
}

// A zone that appears or is lost with its last Node changes each set by one Node, and so does
// each step until there are fewer Nodes than members.
func TestZonesComeAndGo(t *testing.T) {
	f := newFleet(12, 20, 4, 2)
	f.after(t, "at first")
	for zone := 2; zone < 8; zone++ {
		f.nodes = append(f.nodes, f.node(zone))
		f.after(t, fmt.Sprint("zone ", zone))
	}
	for len(f.nodes) > 0 {
		f.nodes = f.nodes[1:]
		f.after(t, fmt.Sprint(len(f.nodes), " Nodes are left"))
	}
}

func TestEndpointsThatMoveShareAPass(t *testing.T) {
	var s seat
	passes, last := 0, time.Duration(0)
	for at := time.Duration(0); at < 5*time.Minute; at += 100 * time.Millisecond {
		next, in, ok := s.wakeIn(noon.Add(at))
		if s = next; !ok {
			continue
		}
		if passes++; in < moved.Least || in > moved.Every || at+in-last < moved.Least {
			t.Errorf("pass %d is made %v after the one before", passes, at+in-last)
		}
		last = at + in
	}
	if least, most := 5*12, moved.Burst+5*12+1; passes < least || passes > most {
		t.Errorf("%d passes in five minutes, want %d to %d", passes, least, most)
	}
}

func TestChangeOfEndpointsMayChangeMembers(t *testing.T) {
	a, unready, b := map[string]bool{"a": true}, map[string]bool{"a": false}, map[string]bool{"b": true}
	for _, tt := range []struct {
		name        string
		limit       int
		before, now map[string]bool
		want        bool
	}{
		{"Moved", 0, a, b, true},
		{"New", 0, nil, a, true},
		{"Same", 2, a, a, false},
		{"ReadinessWithoutALimit", 0, a, unready, false},
		{"ReadinessWithALimit", 2, a, unready, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (Subset{Limit: tt.limit}).isMoved(tt.before, tt.now); got != tt.want {
				t.Errorf("%t, want %t", got, tt.want)
			}
		})
	}
}

func TestDecideWithASeat(t *testing.T) {
	s := balanced(finalized, addressed, conditioned, chooses("x"))
	refused := func(o *observed) { o.seat.refused = `"x" is wrong` }
	runRows(t, []row{
		{
			name: "RefusedAnnotationIsReported", service: s, memory: known(s), edit: refused,
			want: "publish: the annotation fairlead.dev/load-balancer-backends has changed | event LoadBalancerBackendsInvalid",
		},
		{name: "ItIsReportedOnce", service: s, memory: known(s, func(m *memory) { m.refused = `"x" is wrong` }), edit: refused, want: "nothing: up to date | after 9h48m0s"},
		{
			name: "CorrectedAnnotationIsForgotten", service: s, memory: known(s, func(m *memory) { m.refused = `"x" is wrong` }),
			want: "publish: the annotation fairlead.dev/load-balancer-backends has changed",
		},
		{name: "CallGoesFirst", service: s, memory: known(s), edit: func(o *observed) { refused(o); o.backends = "other" }, want: "update: the set of nodes has changed"},
		{name: "NodeMayLeaveLater", service: s, memory: known(s), edit: func(o *observed) { o.seat.later = time.Second }, want: "nothing: up to date | after 1s"},
	})
}
