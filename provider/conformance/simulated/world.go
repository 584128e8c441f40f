// Package simulated has a world for package conformance: the simulated cloud. The
// world meets all needs of checks, so every check can run on a provider of the
// simulated cloud.
package simulated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// World is a simulated cloud. It is safe for concurrent use.
type World struct {
	server   *httptest.Server
	cancel   context.CancelFunc // ends the calls that wait
	operator *simulator.Client
	clock    *heldClock
	door     *door

	mu     sync.Mutex
	faults int // guarded by mu; number of faults that were set, for their names
}

// New starts a simulated cloud in this process, at a free loopback port. The cloud runs
// until Close is called. If config.TerminatedFor is 0, a terminated machine is listed for
// another hour, so a provider must read the machine's state. If config.TerminatedFor is
// time.Nanosecond, the cloud forgets the machine at once.
func New(ctx context.Context, config simulator.Config) (*World, error) {
	held := &heldClock{Clock: config.Clock}
	if held.Clock == nil {
		held.Clock = clock.RealClock{}
	}
	config.Clock = held
	config.Provisioning = max(config.Provisioning, time.Nanosecond) // HoldLoadBalancers needs a moment in which a load balancer is not ready
	config.TerminatedFor = cmp.Or(config.TerminatedFor, time.Hour)
	cloud, err := simulator.New(config)
	if err != nil {
		return nil, err
	}
	d := &door{cloud: cloud}
	server := httptest.NewUnstartedServer(d)
	ctx, cancel := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), klog.Logger{})) // without a log: the cloud's lines would hide those of the provider
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	return &World{server: server, cancel: cancel, operator: simulator.NewClient(server.URL).Operator(), clock: held, door: d}, nil
}

// URL returns the address at which a provider finds the cloud.
func (w *World) URL() string { return w.server.URL }

// Close ends the cloud.
func (w *World) Close() error {
	w.operator.CloseIdleConnections()
	w.cancel() // ends the calls that a fault keeps waiting
	w.server.CloseClientConnections()
	w.server.Close()
	return nil
}

// CreateMachine implements conformance.Machines.
func (w *World) CreateMachine(ctx context.Context, name string) (conformance.Machine, error) {
	made, err := w.operator.CreateInstance(ctx, simulator.Instance{Name: name})
	if err != nil {
		return conformance.Machine{}, err
	}
	m := conformance.Machine{Name: made.Name, ID: made.ID}
	for _, a := range made.Addresses {
		m.Addresses = append(m.Addresses, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Type), Address: a.Address})
	}
	return m, nil
}

// TerminateMachine implements conformance.Machines.
func (w *World) TerminateMachine(ctx context.Context, m conformance.Machine) error {
	return unlessGone(w.operator.TerminateInstance(ctx, m.ID))
}

// unlessGone returns the error of a deletion. It returns nil if the cloud has no such resource.
func unlessGone(err error) error {
	if simulator.IsNotFound(err) {
		return nil
	}
	return err
}

// StopMachine implements conformance.PowerSwitch.
func (w *World) StopMachine(ctx context.Context, m conformance.Machine) error {
	return w.operator.StopInstance(ctx, m.ID)
}

// StartMachine implements conformance.PowerSwitch.
func (w *World) StartMachine(ctx context.Context, m conformance.Machine) error {
	return w.operator.StartInstance(ctx, m.ID)
}

// RenameMachine implements conformance.Renamer.
func (w *World) RenameMachine(ctx context.Context, m conformance.Machine, name string) error {
	_, err := w.operator.UpdateInstance(ctx, m.ID, simulator.InstancePatch{Name: &name})
	return err
}

// UntagMachine implements conformance.Retagger. It removes all labels.
func (w *World) UntagMachine(ctx context.Context, m conformance.Machine) error {
	found, err := w.operator.Instance(ctx, m.ID)
	if err != nil {
		return err
	}
	none := map[string]*string{}
	for key := range found.Labels {
		none[key] = nil
	}
	_, err = w.operator.UpdateInstance(ctx, m.ID, simulator.InstancePatch{Labels: none})
	return err
}

// Calls implements conformance.Meter.
func (w *World) Calls(ctx context.Context) (conformance.Calls, error) {
	report, err := w.operator.Calls(ctx)
	if err != nil {
		return conformance.Calls{}, err
	}
	calls := w.door.refused()
	for _, counter := range report.Counters {
		if slices.Contains(changes(), counter.Call) {
			calls.Writes += int(counter.Count)
		} else {
			calls.Reads += int(counter.Count)
		}
		if counter.Result == simulator.CodeThrottled {
			calls.Refused += int(counter.Count)
		}
	}
	return calls, nil
}

// changes returns the calls that change the cloud.
func changes() []simulator.Call {
	return slices.DeleteFunc(simulator.CallNames(), func(c simulator.Call) bool {
		return strings.HasPrefix(string(c), "List") || strings.HasPrefix(string(c), "Get") || strings.HasPrefix(string(c), "Watch")
	})
}

// Leftovers implements conformance.Inventory. A resource belongs to the cluster if one
// of its tags has the cluster's name as its value. It also belongs to the cluster if
// the name of the resource contains the cluster's name.
func (w *World) Leftovers(ctx context.Context, clusterName string) ([]conformance.Resource, error) {
	var left []conformance.Resource
	add := func(kind conformance.ResourceKind, id, name string, tags map[string]string) {
		if ours := strings.Contains(name, clusterName); ours || hasValue(tags, clusterName) {
			left = append(left, conformance.Resource{Kind: kind, ID: id, Name: name})
		}
	}
	balancers, err1 := w.operator.LoadBalancers(ctx)
	for _, l := range balancers {
		add(conformance.KindLoadBalancer, l.ID, l.Name, l.Tags)
	}
	routes, err2 := w.operator.Routes(ctx)
	for _, r := range routes {
		add(conformance.KindRoute, r.ID, r.Name, r.Tags)
	}
	ips, err3 := w.operator.StaticIPs(ctx)
	for _, ip := range ips {
		add("staticIP", ip.ID, ip.Name, nil)
	}
	return left, errors.Join(err1, err2, err3)
}

func hasValue(tags map[string]string, wanted string) bool {
	return slices.Contains(slices.Collect(maps.Values(tags)), wanted)
}

// Drift implements conformance.Drifter.
func (w *World) Drift(ctx context.Context, clusterName string, what conformance.Drift) error {
	all, err := w.operator.LoadBalancers(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(l simulator.LoadBalancer) bool { return !hasValue(l.Tags, clusterName) })
	if len(all) != 1 {
		return fmt.Errorf("cluster %s has %d load balancers, not one", clusterName, len(all))
	}
	l := all[0]
	var change simulator.LoadBalancerPatch
	switch what {
	case conformance.DriftLoadBalancer:
		return w.operator.DeleteLoadBalancer(ctx, l.ID)
	case conformance.DriftBackend:
		change.Backends = l.Backends[:max(0, len(l.Backends)-1)]
	case conformance.DriftListener:
		change.Listeners = l.Listeners[:max(0, len(l.Listeners)-1)]
	}
	_, err = w.operator.UpdateLoadBalancer(ctx, l.ID, change)
	return err
}

// handMade is the name of routes that CreateForeign creates.
const handMade = "conformance-made-by-hand"

// CreateForeign implements conformance.Foreigner.
func (w *World) CreateForeign(ctx context.Context, kind conformance.ResourceKind, what string) (conformance.Resource, error) {
	switch kind {
	case conformance.KindLoadBalancer:
		made, err := w.operator.CreateLoadBalancer(ctx, simulator.LoadBalancer{
			Name: what, Listeners: []simulator.Listener{{Protocol: "TCP", Port: 443, BackendPort: 30443}}, Backends: []string{},
		})
		return conformance.Resource{Kind: kind, ID: made.ID, Name: made.Name}, err
	case conformance.KindRoute:
		made, err := w.operator.CreateRoute(ctx, simulator.Route{Name: handMade, Destination: what, State: "blackhole"})
		return conformance.Resource{Kind: kind, ID: made.ID, Name: made.Name}, err
	default:
		return conformance.Resource{}, conformance.ErrCannot
	}
}

// ForeignExists implements conformance.Foreigner.
func (w *World) ForeignExists(ctx context.Context, r conformance.Resource) (exists bool, err error) {
	if r.Kind == conformance.KindRoute {
		_, err = w.operator.Route(ctx, r.ID)
		return err == nil, unlessGone(err)
	}
	l, err := w.operator.LoadBalancer(ctx, r.ID)
	unchanged := len(l.Listeners) == 1 && l.Listeners[0].Port == 443 && len(l.Backends) == 0
	return err == nil && unchanged, unlessGone(err)
}

// DeleteForeign implements conformance.Foreigner.
func (w *World) DeleteForeign(ctx context.Context, r conformance.Resource) error {
	if r.Kind == conformance.KindRoute {
		return unlessGone(w.operator.DeleteRoute(ctx, r.ID))
	}
	return unlessGone(w.operator.DeleteLoadBalancer(ctx, r.ID))
}
