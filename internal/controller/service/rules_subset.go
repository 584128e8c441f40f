package service

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// AnnotationBackends on a Service replaces Subset.Choice for this Service.
const AnnotationBackends = "fairlead.dev/load-balancer-backends"

const (
	// stays is the time for which a Node stays a member after its last endpoint is gone.
	// Meanwhile the cloud's health checks find the Nodes that have joined. If a pod is
	// replaced on the same Node, nothing changes.
	stays = time.Minute
	// unplaced is the largest number of members of a Service that has no endpoint on a
	// usable Node, and no earlier members.
	unplaced = 3
)

// moved limits the passes over a Service because its endpoints have moved to other Nodes.
// Endpoints that move together share a pass.
var moved = allowance.Limit{Burst: 20, Every: maxPause, Least: minQuiet}

// Choice says which of the usable Nodes are behind a load balancer. The zero value means
// all of them.
type Choice struct {
	// Endpoints means the Nodes with endpoints of the Service.
	Endpoints bool
	// Most, if it is not 0, is the number of Nodes. Of a Service with
	// externalTrafficPolicy Local it means the same as Endpoints, because no other Node
	// takes its traffic.
	Most int
}

var errChoice = errors.New("must be all, endpoints or a number of at least 1")

// ParseChoice returns the choice that a flag or annotation names.
func ParseChoice(text string) (Choice, error) {
	switch text {
	case "all":
		return Choice{}, nil
	case "endpoints":
		return Choice{Endpoints: true}, nil
	}
	most, err := strconv.Atoi(text)
	if err != nil || most < 1 {
		return Choice{}, errChoice
	}
	return Choice{Most: most}, nil
}

// needsEndpoints reports whether the choice depends on the endpoints of the Service.
func (c Choice) needsEndpoints(service *corev1.Service) bool {
	return c.Endpoints || c.Most > 0 && service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// Subset says how the members of each load balancer are chosen: the Nodes behind it, out
// of the set of all usable Nodes. The zero value means that all usable Nodes are members.
type Subset struct {
	Choice Choice
	// Limit is the largest number of members, unless all usable Nodes are. 0 means no
	// limit.
	Limit int
}

var errUnread = errors.New("needs the endpoints of the Service, which the daemon reads only with --service-backends=endpoints or a number")

// chosen returns the choice for a Service, and the reason why AnnotationBackends has no
// effect, if there is one. known means that the endpoints of Services are known. They are if
// the flag's choice depends on them.
func (by Subset) chosen(service *corev1.Service, known bool) (c Choice, refused string) { //nolint:revive // flag-parameter: it is a fact
	text, named := service.Annotations[AnnotationBackends]
	if !named {
		return by.Choice, ""
	}
	c, err := ParseChoice(text)
	if err == nil && !known && c.needsEndpoints(service) {
		err = errUnread
	}
	if err != nil {
		return by.Choice, fmt.Sprintf("%q %v", text, err)
	}
	return c, ""
}

// choosesOtherwise reports whether other members may be chosen for one version of a Service
// than for another one, although the Nodes and endpoints are the same.
func choosesOtherwise(a, b *corev1.Service) bool {
	return a.Annotations[AnnotationBackends] != b.Annotations[AnnotationBackends] || a.Spec.ExternalTrafficPolicy != b.Spec.ExternalTrafficPolicy
}

// seat is what is known about the members of one load balancer. Everything except the
// field places follows from the Nodes, the Service and its endpoints, so another process
// chooses the same members.
type seat struct {
	choice Choice
	// refused is the reason why AnnotationBackends has no effect. It is empty if there is
	// none.
	refused string
	// follows means that the members depend on the endpoints.
	follows bool
	places  places
	// placed is the time at which places last changed.
	placed time.Time
	// later is the time until a Node may leave, if nothing else changes; 0 means never.
	later time.Duration
	set   nodeSet
	moves allowance.Allowance
	// due is the time of the next pass because of endpoints that have moved.
	due time.Time
}

// place says that a Service has endpoints on a Node.
type place struct {
	ready bool      // at least one of them
	lost  time.Time // when the last of them was gone; zero if there are some
}

// places are the Nodes with endpoints of a Service, by name. An endpoint that is not ready
// counts, too: the Node has to be a member before its endpoint becomes ready and until it
// has ended, and readiness that comes and goes should cost no calls.
type places map[string]place

// located returns the seat after the endpoints of its Service were read. found has the Nodes
// with endpoints, and whether one of them is ready. If no endpoint is left, nobody can say
// where the next one will be, so the places stay as they are.
func (s seat) located(found map[string]bool, now time.Time) seat {
	s.later = 0
	if len(found) == 0 {
		return s
	}
	next := make(places, len(found))
	for name, ready := range found {
		next[name] = place{ready: ready}
	}
	for name, was := range s.places {
		if _, is := found[name]; is {
			continue
		}
		if was.lost.IsZero() {
			was = place{lost: now}
		}
		left := was.lost.Add(stays).Sub(now)
		if left <= 0 {
			continue
		}
		next[name] = was
		if s.later == 0 || left < s.later {
			s.later = left
		}
	}
	if !maps.Equal(s.places, next) {
		s.places, s.placed = next, now
	}
	return s
}

// isMoved reports whether a change of the endpoints in a slice may change the members.
// Readiness matters only if there is not room for all Nodes with endpoints.
func (by Subset) isMoved(before, now map[string]bool) bool {
	return !maps.EqualFunc(before, now, func(a, b bool) bool { return a == b || by.Limit == 0 })
}

// wakeIn returns the time until the pass that a change of the endpoints requires, and false
// if that pass was already requested.
func (s seat) wakeIn(now time.Time) (next seat, in time.Duration, ok bool) {
	if s.due.After(now) {
		return s, 0, false
	}
	s.due = now.Add(moved.Least)
	if free := s.moves.Next(moved); free.After(s.due) {
		s.due = free
	}
	s.moves = s.moves.Used(moved, s.due)
	return s, s.due.Sub(now), true
}

// withSeat returns the plan for a Service whose members are chosen. Before a pass ends, an
// event says once that AnnotationBackends has no effect. The next pass comes before a Node may
// leave.
func withSeat(o observed, p plan) plan {
	switch s := o.seat; {
	case p.do != doNothing && p.do != wait:
		return p
	case p.do == doNothing && s.refused != o.memory.refused:
		p.do, p.why, p.after = publish, "the annotation "+AnnotationBackends+" has changed", 0
		if p.memory.refused = s.refused; s.refused != "" {
			p.writes.events = []message.Event{backendsInvalidEvent(s.refused)}
		}
		return p
	default:
		return p.within(s.later)
	}
}

// trait is what the choice of members reads of a Node.
type trait struct {
	zone string
	hash uint64 // of the Node's UID
}

func traitOf(node *corev1.Node) trait {
	return trait{node.Labels[corev1.LabelTopologyZone], hashOf(string(node.UID))}
}

// members returns the indexes of the members in the set of all usable Nodes, in ascending
// order.
func (s seat) members(by Subset, service types.UID, all nodeSet) []int {
	every := make([]int, len(all.nodes))
	for at := range every {
		every[at] = at
	}
	seed := hashOf(string(service))
	if !s.follows {
		return spread(every, all.traits, seed, least(s.choice.Most, by.Limit))
	}
	var ready, others []int
	for at, node := range all.nodes {
		switch is, ok := s.places[node.Name]; {
		case is.ready:
			ready = append(ready, at)
		case ok:
			others = append(others, at)
		}
	}
	switch room := by.Limit - len(ready); {
	case len(ready)+len(others) == 0:
		return spread(every, all.traits, seed, least(unplaced, by.Limit))
	case by.Limit == 0:
	case room > 0:
		others = spread(others, all.traits, seed, room)
	default:
		ready, others = spread(ready, all.traits, seed, by.Limit), nil
	}
	chosen := append(ready, others...) //nolint:gocritic // both are new
	slices.Sort(chosen)
	return chosen
}

// least returns the smaller number. A limit of 0 means that there is none.
func least(n, limit int) int {
	if limit == 0 {
		return n
	}
	return min(n, limit)
}

// spread returns the given number of Nodes, in ascending order. It takes them from the zones
// in turn, and from each zone those with the smallest scores (rendezvous hashing). The seed
// decides the scores and the order of the zones. So the result depends on nothing that
// happened before, each zone is in it if there are enough Nodes to choose, and a Node that
// joins or leaves replaces one Node at most.
func spread(among []int, traits []trait, seed uint64, most int) []int {
	if len(among) <= most {
		return among
	}
	type scored struct {
		at    int
		score uint64
	}
	best := map[string][]scored{} // by zone, at most the wanted number of each
	for _, at := range among {
		zone := best[traits[at].zone]
		is := scored{at, mix(traits[at].hash ^ seed)}
		if len(zone) == most && zone[most-1].score <= is.score {
			continue
		}
		n, _ := slices.BinarySearchFunc(zone, is, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
		zone = slices.Insert(zone, n, is)
		best[traits[at].zone] = zone[:min(len(zone), most)]
	}
	zones := slices.SortedFunc(maps.Keys(best), func(a, b string) int {
		return cmp.Or(cmp.Compare(mix(hashOf(a)^seed), mix(hashOf(b)^seed)), cmp.Compare(a, b))
	})
	chosen := make([]int, 0, most)
	for turn := 0; len(chosen) < most; turn++ {
		for _, zone := range zones {
			if turn < len(best[zone]) && len(chosen) < most {
				chosen = append(chosen, best[zone][turn].at)
			}
		}
	}
	slices.Sort(chosen)
	return chosen
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // A hash accepts all data.
	return h.Sum64()
}

// mix spreads the differences between similar numbers over all bits (splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
