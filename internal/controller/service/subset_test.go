package service

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// choosing returns a configuration with a choice of members.
func choosing(c Choice) Config {
	return Config{Syncs: 10, Backends: BackendPolicy{Subset: Subset{Choice: c}}}
}

// slice returns an EndpointSlice of a Service, with ready endpoints on these Nodes.
func slice(service string, nodes ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: service + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: service},
	}}
	for _, node := range nodes {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{NodeName: &node})
	}
	return s
}

// moves puts the endpoints of a Service on these Nodes.
func (l *life) moves(service string, nodes ...string) {
	l.t.Helper()
	if _, err := l.cluster.DiscoveryV1().EndpointSlices("ns").Update(l.t.Context(), slice(service, nodes...), metav1.UpdateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

// expectMembers checks the Nodes behind the load balancer of a Service.
func (l *life) expectMembers(what, service string, want ...string) {
	l.t.Helper()
	uid := l.serviceOf("ns", service).UID
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := l.balancers[uid]; !slices.Equal(got, want) {
		l.t.Errorf("%s: %s has the nodes %v, want %v", what, service, got, want)
	}
}

// hosts returns Nodes with the names of single letters.
func hosts(names string) (objects []runtime.Object) {
	for _, name := range names {
		objects = append(objects, host(string(name)))
	}
	return objects
}

func TestChosenNodesAreTheSameAfterARestart(t *testing.T) {
	for _, choice := range []Choice{{Most: 3}, {Endpoints: true}} {
		synctest.Test(t, func(t *testing.T) {
			objects := append(hosts("bcdefghijkl"), many(20)...)
			for n := range 20 {
				objects = append(objects, slice(fmt.Sprintf("s-%03d", n), "c", "d", "e"))
			}
			l := begin(t, choosing(choice), objects...)
			defer func() { l.stop() }()
			l.after(time.Minute)
			before := map[string][]string{}
			l.change(func() {
				for uid, names := range l.balancers {
					if before[string(uid)] = names; len(names) != 3 {
						t.Errorf("%s has the nodes %v, want 3", uid, names)
					}
				}
			})
			l.stop()
			l.takeCalls()
			l.start()
			l.after(time.Hour)
			calls := l.takeCalls()
			slices.Sort(calls)
			if len(calls) != 20 || len(slices.Compact(calls)) != 20 || calls[0] != "ensure s-000" {
				t.Errorf("calls %v, want one of Ensure for each Service", calls)
			}
			for uid, names := range l.balancers {
				if !slices.Equal(names, before[string(uid)]) {
					t.Errorf("%s has the nodes %v, and had %v before the restart", uid, names, before[string(uid)])
				}
			}
		})
	}
}

// A rollout moves the endpoints of one Service. Its load balancer follows, and nothing else
// happens.
func TestEndpointsWakeOnlyTheirService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, choosing(Choice{Endpoints: true}), append(hosts("abcdef"),
			balanced(), balanced(named("other")), balanced(named("internal")), slice("s", "a"), slice("other", "b"), slice("internal", "c"))...)
		defer func() { l.stop() }()
		l.after(time.Hour)
		l.expectMembers("at first", "s", "a")
		l.edit(l.serviceOf("ns", "internal"), internal)
		l.after(time.Hour)
		l.takeCalls()
		passes := 0
		l.change(func() {
			l.reads = func(key string) {
				if key != "ns/s" {
					t.Errorf("a pass over %s", key)
				}
				passes++
			}
		})
		l.moves("s", "c")
		l.moves("internal", "d")
		l.after(5 * time.Second)
		l.expect("moved", list("update s"), list("s UpdatedLoadBalancer"))
		l.expectMembers("the node that is left stays", "s", "a", "c")
		l.after(stays)
		l.expect("a minute later", list("update s"), list("s UpdatedLoadBalancer"))
		l.expectMembers("a minute later", "s", "c")
		l.moves("s")
		l.after(time.Hour)
		l.moves("s", "c")
		l.after(time.Hour)
		l.expect("the pod was replaced on its node", nil, nil)
		l.moves("s")
		l.after(time.Hour)
		l.moves("s", "d")
		l.after(5 * time.Second)
		l.expectMembers("the last endpoint moves", "s", "c", "d")
		if passes == 0 {
			t.Error("no pass was seen")
		}
	})
}

// The first set of a Service without endpoints is small and not empty, and a Node that may
// not be a backend any more leaves at once.
func TestMembersFollowTheNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, choosing(Choice{Endpoints: true}), append(hosts("abcdef"), balanced(local), slice("s"))...)
		defer func() { l.stop() }()
		l.after(time.Minute)
		if n := len(l.balancers[l.service().UID]); n != unplaced {
			t.Errorf("%d nodes without an endpoint, want %d", n, unplaced)
		}
		l.moves("s", "a", "b")
		l.after(time.Minute)
		l.expectMembers("endpoints", "s", "a", "b")
		if err := l.cluster.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(time.Minute)
		l.expectMembers("a Node is deleted", "s", "b")
		l.update(chooses("all"))
		l.after(time.Minute)
		l.expectMembers("annotation", "s", "b", "c", "d", "e", "f")
		if r, _ := l.controller.Recall("ns/s"); len(r.Backends) > 0 {
			t.Errorf("recalled %v, want nothing about nodes that were not chosen", r.Backends)
		}
		l.takeCalls()
		l.update(chooses("?"))
		l.after(time.Minute)
		l.expect("bad annotation", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer", "s LoadBalancerBackendsInvalid"))
		l.expectMembers("bad annotation", "s", "b")
		if r, _ := l.controller.Recall("ns/s"); !slices.Equal(r.Backends, list("b")) {
			t.Errorf("recalled %v", r.Backends)
		}
	})
}

// Services share a call as long as all usable Nodes are their members. A Node that joins while
// the first of three such calls is under way makes the sets differ, and while the second one
// gathers its members. No load balancer gets more nodes than are chosen for it.
func TestOnlySetsOfAllNodesShareACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := choosing(Choice{Most: 3})
		cfg.Syncs = 1 // So the calls follow each other.
		l := beginMany(t, 20, cfg, append(append(hosts("b"), many(59)...), balanced(chooses("all")))...)
		defer func() { l.stop() }()
		l.after(time.Hour)
		l.takeCalls()
		l.create(host("c"))
		l.after(gatherFor + 2*time.Millisecond)
		l.create(host("d"))
		for range 600 {
			l.after(100 * time.Millisecond)
			l.change(func() {
				for uid, names := range l.balancers {
					if len(names) > 3 && uid != balanced().UID {
						t.Fatalf("%s has the nodes %v, want 3 at most", uid, names)
					}
				}
			})
		}
		l.expectMembers("all", "s", "a", "b", "c", "d")
		calls := l.takeCalls()
		if !slices.Contains(calls, "many 20") || !slices.ContainsFunc(calls, func(call string) bool { return strings.HasPrefix(call, "update s-") }) {
			t.Errorf("calls %v, want one for 20 Services that get all nodes, and some for one Service each", calls)
		}
	})
}

// Without the flag no EndpointSlice is read. A number in an annotation counts nevertheless.
func TestWithoutAChoiceNoEndpointIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Backends: BackendPolicy{Subset: Subset{Limit: 3}}}, append(hosts("abcdef"), balanced(), balanced(named("few"), chooses("2")), balanced(named("local"), chooses("2"), local), slice("local", "a"))...)
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.expectMembers("all", "s", "a", "b", "c", "d", "e", "f")
		l.expectMembers("refused", "local", "a", "b", "c", "d", "e", "f")
		if n := len(l.balancers[l.serviceOf("ns", "few").UID]); n != 2 {
			t.Errorf("%d nodes, want 2", n)
		}
		for _, a := range l.cluster.Actions() {
			if a.GetResource().Resource == "endpointslices" {
				t.Errorf("request %s %s", a.GetVerb(), a.GetResource())
			}
		}
	})
}
