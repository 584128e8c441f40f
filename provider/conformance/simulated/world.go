// Package simulated has a world for package conformance: the simulated cloud. The
// world meets all needs of checks, so every check can run on a provider of the
// simulated cloud.
package simulated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// World is a simulated cloud. It is safe for concurrent use.
type World struct {
	url      string
	operator *simulator.Client
	clock    *heldClock
	door     *door
	close    func() error

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
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	url := "http://" + listener.Addr().String()
	w := &World{url: url, operator: simulator.NewClient(url).Operator(), clock: held, door: &door{cloud: cloud}}
	w.close = w.door.open(context.WithoutCancel(ctx), listener)
	return w, nil
}

// URL returns the address at which a provider finds the cloud.
func (w *World) URL() string { return w.url }

// Close ends the cloud.
func (w *World) Close() error {
	w.operator.CloseIdleConnections()
	return w.close()
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
	if err := w.operator.TerminateInstance(ctx, m.ID); !simulator.IsNotFound(err) {
		return err
	}
	return nil
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
	for _, value := range tags {
		if value == wanted {
			return true
		}
	}
	return false
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
	switch what {
	case conformance.DriftLoadBalancer:
		return w.operator.DeleteLoadBalancer(ctx, l.ID)
	case conformance.DriftBackend:
		_, err = w.operator.UpdateLoadBalancer(ctx, l.ID, simulator.LoadBalancerPatch{Backends: l.Backends[:max(0, len(l.Backends)-1)]})
	case conformance.DriftListener:
		_, err = w.operator.UpdateLoadBalancer(ctx, l.ID, simulator.LoadBalancerPatch{Listeners: l.Listeners[:max(0, len(l.Listeners)-1)]})
	default:
		return conformance.ErrCannot
	}
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
	case conformance.KindMachine, conformance.KindAddress:
	}
	return conformance.Resource{}, conformance.ErrCannot
}

// ForeignExists implements conformance.Foreigner.
func (w *World) ForeignExists(ctx context.Context, r conformance.Resource) (bool, error) {
	var err error
	switch r.Kind {
	case conformance.KindLoadBalancer:
		var l simulator.LoadBalancer
		l, err = w.operator.LoadBalancer(ctx, r.ID)
		if err == nil && (len(l.Listeners) != 1 || l.Listeners[0].Port != 443 || len(l.Backends) > 0) {
			return false, nil
		}
	case conformance.KindRoute:
		_, err = w.operator.Route(ctx, r.ID)
	case conformance.KindMachine, conformance.KindAddress:
		fallthrough
	default:
		return false, conformance.ErrCannot
	}
	if simulator.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// DeleteForeign implements conformance.Foreigner.
func (w *World) DeleteForeign(ctx context.Context, r conformance.Resource) error {
	var err error
	switch r.Kind {
	case conformance.KindLoadBalancer:
		err = w.operator.DeleteLoadBalancer(ctx, r.ID)
	case conformance.KindRoute:
		err = w.operator.DeleteRoute(ctx, r.ID)
	case conformance.KindMachine, conformance.KindAddress:
		fallthrough
	default:
		return conformance.ErrCannot
	}
	if simulator.IsNotFound(err) {
		return nil
	}
	return err
}
