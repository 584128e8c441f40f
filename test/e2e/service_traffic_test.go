package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
	"github.com/fairlead-k8s/fairlead/test/internal/replicas"
)

// Clients open a connection every 10 ms through each of two load balancers. One load
// balancer drains connections, and the other does not. Meanwhile nodes join, are
// excluded, drained and deleted, and the leader is replaced.
//
// Once a backend is removed, no new connection may reach it, and no connection may fail.
// There is one exception: the load balancer without draining cuts the connections that
// are open when their backend is removed. Only such connections may fail.
func TestTrafficWhileEverythingChanges(t *testing.T) {
	b := onOwn(t)
	c := b.NewCloud(t, "--check-interval=200ms", "--drain=0")
	s := traffic{Services: lbservice.Services{Bed: b, Cloud: c}}
	s.leader, s.standby = s.Replicas(t, daemon.Setup{Flags: []string{"--service-remove-backends-on=taint"}})
	draining := s.Balanced(t, "draining", func(service *corev1.Service) {
		service.Annotations = map[string]string{string(simulated.AnnotationDrain): "5m"}
	})
	s.names = []string{draining, s.Balanced(t, "cutting")}
	a, excluded, drained := s.joins(t), s.joins(t), s.joins(t)
	s.awaitBackends(t, a, excluded, drained)
	for _, name := range s.names {
		s.clients = append(s.clients, s.connects(t, name))
	}
	s.awaitConnections(t, 100)

	deleted, handed := s.joins(t), s.joins(t)
	s.awaitBackends(t, a, excluded, drained, deleted, handed)
	for _, m := range []*machine{deleted, handed} {
		s.awaitConnectionsTo(t, m)
	}

	s.removes(t, excluded, func() {
		s.Patch(t, excluded.instance.Name, `{"metadata":{"labels":{"`+corev1.LabelNodeExcludeBalancers+`":"true"}}}`)
	}, a, drained, deleted, handed)
	s.takenBack(excluded)
	s.Patch(t, excluded.instance.Name, `{"metadata":{"labels":{"`+corev1.LabelNodeExcludeBalancers+`":null}}}`)
	s.awaitBackends(t, a, excluded, drained, deleted, handed)
	s.awaitConnectionsTo(t, excluded)

	s.removes(t, handed, func() {
		s.leader.Signal(syscall.SIGTERM)
		s.Patch(t, handed.instance.Name, `{"metadata":{"labels":{"`+corev1.LabelNodeExcludeBalancers+`":""}}}`)
	}, a, excluded, drained, deleted)
	if code := s.leader.AwaitExit(t, drain+noise); code != 0 {
		t.Errorf("the leader has ended with code %d", code)
	}

	s.Patch(t, drained.instance.Name, `{"spec":{"unschedulable":true}}`)
	s.awaitConnections(t, 100)
	s.awaitConnectionsTo(t, drained) // Cordoned nodes stay.
	s.removes(t, drained, func() {
		s.Patch(t, drained.instance.Name, `{"spec":{"taints":[{"key":"ToBeDeletedByClusterAutoscaler","effect":"NoSchedule"}]}}`)
	}, a, excluded, deleted)
	drained.goes(t, s)

	s.removes(t, deleted, func() {
		if err := b.Admin.CoreV1().Nodes().Delete(t.Context(), deleted.instance.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}, a, excluded)
	deleted.goes(t, s)
	s.awaitConnections(t, 100)
	s.judges(t)
}

// traffic has the Services of two load balancers, the removals of machines behind them,
// and the clients that connect to them.
type traffic struct {
	lbservice.Services

	leader, standby replicas.Replica
	names           []string // the one with draining first
	clients         []*trafficClient
	removals        []*removal
}

// removal is the removal of one machine.
type removal struct {
	*machine

	// began and done are the times at which the removal begins and ends. back is the time
	// at which the machine is added again; zero if it is not. Between done and back, no
	// new connection may reach the machine.
	began, done, back time.Time
}

// joins adds a machine that answers on the node ports of the Services, and its
// Node.
func (s *traffic) joins(t *testing.T) *machine {
	t.Helper()
	// By default, all clouds on this computer assign the same addresses. So choose one at
	// random.
	address := fmt.Sprintf("InternalIP=127.%d.%d.%d", 1+rand.N(60), 1+rand.N(250), 1+rand.N(250))
	i, _ := s.Pair(t, s.Cloud, simulator.Instance{Name: s.Name("machine"), Addresses: nodes.CloudAddresses(address)})
	m := &machine{instance: i}
	for _, name := range s.names {
		m.answers(t, s.Service(t, name).Spec.Ports[0].NodePort)
	}
	return m
}

// awaitBackends waits until these machines and no others are behind both load
// balancers and are healthy, and no change is under way.
func (s *traffic) awaitBackends(t *testing.T, machines ...*machine) {
	t.Helper()
	want := map[string]simulator.BackendHealth{}
	for _, m := range machines {
		want[m.instance.ID] = simulator.BackendHealthy
	}
	expect.Within(t, crashHandOver+noise, func(ctx context.Context) error {
		for _, name := range s.names {
			l, err := s.Balancer(ctx, name)
			if err != nil || l.Traffic == nil {
				return errors.Join(errors.New("no traffic is carried"), err)
			}
			got := map[string]simulator.BackendHealth{}
			for _, backend := range l.Traffic.Backends {
				if backend.Health != simulator.BackendDraining {
					got[backend.Instance] = backend.Health
				}
			}
			if err := errors.Join(expect.Equal("backends", len(want), len(l.Backends)), expect.Equal("health", want, got)); err != nil {
				return err
			}
		}
		underWay := func(r proxy.Request) bool { return ofBalancerChanges(r) && r.Ended.IsZero() }
		return expect.Equal("changes under way", 0, len(s.leader.Cloud.Requests(underWay))+len(s.standby.Cloud.Requests(underWay)))
	})
}

// removes takes a machine out of the load balancers. Each load balancer has an open
// connection to the machine. The connection through the load balancer that drains must
// survive, and the other connection must be cut.
func (s *traffic) removes(t *testing.T, m *machine, how func(), left ...*machine) {
	t.Helper()
	open := []*session{s.clients[0].stays(t, m), s.clients[1].stays(t, m)}
	r := &removal{machine: m, began: time.Now()}
	s.removals = append(s.removals, r)
	how()
	s.awaitBackends(t, left...)
	r.done = time.Now()
	s.awaitConnections(t, 50)
	if err := open[0].talk(); err != nil {
		t.Errorf("a connection that drains from %s: %v", m.instance.Name, err)
	}
	if err := open[1].talk(); err == nil {
		t.Errorf("a connection to %s lives on, without draining", m.instance.Name)
	}
	for _, o := range open {
		_ = o.conn.Close() // it may have been cut
	}
}

func (s *traffic) takenBack(m *machine) {
	for _, r := range s.removals {
		if r.machine == m {
			r.back = time.Now()
		}
	}
}

// awaitConnections waits until each load balancer has served this many more connections,
// from beginning to end.
func (s *traffic) awaitConnections(t *testing.T, more int) {
	t.Helper()
	from := time.Now()
	for _, v := range s.clients {
		expect.Within(t, expect.Soon, func(context.Context) error {
			if n := len(v.since(from)); n < more {
				return fmt.Errorf("%d connections, want %d", n, more)
			}
			return nil
		})
	}
}

// awaitConnectionsTo waits until new connections come to the machine through both load
// balancers.
func (s *traffic) awaitConnectionsTo(t *testing.T, m *machine) {
	t.Helper()
	from := time.Now()
	for _, v := range s.clients {
		expect.Within(t, expect.Soon, func(context.Context) error {
			if !slices.ContainsFunc(v.since(from), func(v connection) bool { return v.host == m.instance.ID }) {
				return fmt.Errorf("%s gets no connection", m.instance.Name)
			}
			return nil
		})
	}
}

// judges checks each connection.
func (s *traffic) judges(t *testing.T) {
	t.Helper()
	for n, v := range s.clients {
		v.stop()
		all, cut := v.since(time.Time{}), []connection{}
		for _, connection := range all {
			for _, r := range s.removals {
				if connection.host == r.instance.ID && connection.began.After(r.done) && (r.back.IsZero() || connection.began.Before(r.back)) {
					t.Errorf("%s: a connection that was opened %v after %s had been removed came to it",
						s.names[n], connection.began.Sub(r.done), r.instance.Name)
				}
			}
			if connection.err == nil {
				continue
			}
			if n == 0 || !s.isCut(connection) {
				t.Errorf("%s: a connection failed after %v: %v", s.names[n], connection.ended.Sub(connection.began), connection.err)
			}
			cut = append(cut, connection)
		}
		t.Logf("%s: %d connections, %d failed, during %d removals", s.names[n], len(all), len(cut), len(s.removals))
		if most := len(s.removals); moments(cut) > most {
			t.Errorf("%s: %d connections were cut, at %d moments or more, want at most %d moments", s.names[n], len(cut), moments(cut), most)
		}
	}
}

// moments returns at how many moments, at least, the connections were cut. All
// connections that are open at one moment can be cut together.
func moments(all []connection) int {
	n, last := 0, time.Time{}
	for _, v := range slices.SortedFunc(slices.Values(all), func(a, b connection) int { return a.ended.Compare(b.ended) }) {
		if v.began.After(last) {
			n, last = n+1, v.ended
		}
	}
	return n
}

// isCut reports whether a connection was under way while a machine was being removed. A
// connection that got no answer in time was not cut.
func (s *traffic) isCut(v connection) bool {
	if failed, ok := errors.AsType[net.Error](v.err); ok && failed.Timeout() {
		return false
	}
	return slices.ContainsFunc(s.removals, func(r *removal) bool { return v.began.Before(r.done) && v.ended.After(r.began) })
}
