package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// Nodes follow their instances after initialisation.
func TestNodeFollowsItsInstance(t *testing.T) {
	b := onShared(t)
	f := follower{Bed: b}
	f.instance = b.Kubelet(t, simulator.Instance{
		Name: b.Name("follow"), Labels: map[string]string{"rack": "r1", "pool": "blue", "shift": "day"},
	})
	b.Daemon(t, daemon.Setup{Flags: []string{"--node-status-update-frequency=500ms", "--node-label-reconcile=type,additional,remove"}})
	f.awaits(t)

	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"ResizeRewritesBothTypeLabels", f.testResize},
		{"NewAddressesReplaceTheOldOnes", f.testReaddress},
		{"NoAddressesLeaveThoseThatTheNodeHas", f.testUnaddress},
		{"LastIPAddressGoesLate", f.testLastIP},
		{"LabelsAreAddedChangedAndRemoved", f.testRelabel},
		{"LabelThatAUserEditedStaysTheUsers", f.testEditLabel},
		{"LabelThatAUserHadBeforeStaysTheUsers", f.testOwnLabel},
		{"LabelThatAUserSetToTheSameValueIsAdopted", f.testAdoptLabel},
		{"NodeOfARenamedInstanceStaysAndIsKeptUpToDate", f.testRename},
		{"ZoneIsReportedOnceAndNotRewritten", f.testMove},
	} {
		if !t.Run(step.name, step.run) {
			return
		}
	}
}

// follower is one Node with its instance.
type follower struct {
	*bed.Bed

	instance simulator.Instance
}

func (f *follower) change(t *testing.T, p simulator.InstancePatch) {
	t.Helper()
	f.instance = f.Cloud.Change(t, f.instance, p)
}

// awaits waits until the Node agrees with its instance.
func (f *follower) awaits(t *testing.T) {
	t.Helper()
	f.AwaitNode(t, f.instance.Name, expect.Soon, nodes.As(f.instance, nodes.AddressesOf(f.instance)...))
}

func (f *follower) testResize(t *testing.T) {
	f.change(t, simulator.InstancePatch{Type: new("huge")})
	f.awaits(t)
}

func (f *follower) testReaddress(t *testing.T) {
	f.change(t, simulator.InstancePatch{Addresses: nodes.CloudAddresses("InternalIP=127.0.78.1", "InternalIP=127.0.78.2", "ExternalIP=203.0.113.78")})
	f.awaits(t)
	// The order of the addresses does not matter: some clouds change it with each answer.
	before := nodes.AddressesOf(f.instance)
	f.change(t, simulator.InstancePatch{Type: new("tall"), Addresses: nodes.CloudAddresses("InternalIP=127.0.78.2", "InternalIP=127.0.78.1", "ExternalIP=203.0.113.78")})
	f.AwaitNode(t, f.instance.Name, expect.Soon, nodes.As(f.instance, before...))
	f.change(t, simulator.InstancePatch{Addresses: nodes.CloudAddresses("InternalIP=127.0.78.2")})
	f.awaits(t)
}

func (f *follower) testUnaddress(t *testing.T) {
	before := nodes.AddressesOf(f.instance)
	f.change(t, simulator.InstancePatch{Addresses: []simulator.Address{}, Type: new("tiny")})
	f.AwaitNode(t, f.instance.Name, expect.Soon, nodes.As(f.instance, before...))
	f.change(t, simulator.InstancePatch{Addresses: nodes.CloudAddresses("InternalIP=127.0.78.3")})
	f.awaits(t)
}

// The last IP address stays for a minute, although the cloud is asked twice a second.
func (f *follower) testLastIP(t *testing.T) {
	before := nodes.AddressesOf(f.instance)
	f.change(t, simulator.InstancePatch{Addresses: nodes.CloudAddresses("ExternalDNS=follow.example.com"), Type: new("blind")})
	changed := time.Now()
	f.AwaitNode(t, f.instance.Name, expect.Soon, nodes.As(f.instance, before...))
	f.AwaitEvent(t, f.instance.Name, expect.Soon, "Warning CloudAddressesMissing")
	f.AwaitNode(t, f.instance.Name, 3*time.Minute, nodes.As(f.instance, nodes.AddressesOf(f.instance)...))
	if took := time.Since(changed); took < 50*time.Second {
		t.Errorf("the address went after %v, want a minute", took)
	}
	f.change(t, simulator.InstancePatch{Addresses: nodes.CloudAddresses("InternalIP=127.0.78.4")})
	f.awaits(t)
}

func (f *follower) testRelabel(t *testing.T) {
	f.change(t, simulator.InstancePatch{Labels: map[string]*string{"rack": new("r2"), "row": new("7"), "pool": nil}})
	f.AwaitNode(t, f.instance.Name, expect.Soon, func(node *corev1.Node) error {
		if value, ok := node.Labels["pool"]; ok {
			return fmt.Errorf("label pool=%s is still there", value)
		}
		return errors.Join(nodes.As(f.instance, nodes.AddressesOf(f.instance)...)(node), hasRecord(node, f.instance.Labels))
	})
}

// hasRecord returns an error unless the Node's record of the cloud's labels equals want.
func hasRecord(node *corev1.Node, want map[string]string) error {
	var record map[string]string
	if err := json.Unmarshal([]byte(node.Annotations[labelRecord]), &record); err != nil {
		return fmt.Errorf("annotation %s: %w", labelRecord, err)
	}
	return expect.Equal("annotation "+labelRecord, want, record)
}

// afterNextLook changes the type of the instance, and waits until the Node shows the new
// type. By then the daemon has also seen all earlier changes in the cloud.
func (f *follower) afterNextLook(t *testing.T) *corev1.Node {
	t.Helper()
	size := f.Name("size")
	f.change(t, simulator.InstancePatch{Type: new(size)})
	return f.AwaitNode(t, f.instance.Name, expect.Soon, func(node *corev1.Node) error {
		return expect.Equal("type", size, node.Labels[corev1.LabelInstanceTypeStable])
	})
}

func (f *follower) testEditLabel(t *testing.T) {
	f.Patch(t, f.instance.Name, `{"metadata":{"labels":{"rack":"mine"}}}`)
	if node := f.afterNextLook(t); node.Labels["rack"] != "mine" {
		t.Errorf("label rack=%s, want the user's", node.Labels["rack"])
	}
	f.change(t, simulator.InstancePatch{Labels: map[string]*string{"rack": new("r3")}})
	if node := f.afterNextLook(t); node.Labels["rack"] != "mine" {
		t.Errorf("label rack=%s after the cloud has changed its own, want the user's", node.Labels["rack"])
	}
	f.change(t, simulator.InstancePatch{Labels: map[string]*string{"rack": nil}})
	if node := f.afterNextLook(t); node.Labels["rack"] != "mine" {
		t.Errorf("label rack=%q after the cloud has removed its own, want the user's", node.Labels["rack"])
	}
}

func (f *follower) testOwnLabel(t *testing.T) {
	f.Patch(t, f.instance.Name, `{"metadata":{"labels":{"team":"mine"}}}`)
	f.change(t, simulator.InstancePatch{Labels: map[string]*string{"team": new("theirs")}})
	if node := f.afterNextLook(t); node.Labels["team"] != "mine" {
		t.Errorf("label team=%s, want the user's", node.Labels["team"])
	}
	f.change(t, simulator.InstancePatch{Labels: map[string]*string{"team": nil}})
	if node := f.afterNextLook(t); node.Labels["team"] != "mine" {
		t.Errorf("label team=%q after the cloud has removed its own, want the user's", node.Labels["team"])
	}
}

func (f *follower) testAdoptLabel(t *testing.T) {
	f.Patch(t, f.instance.Name, `{"metadata":{"labels":{"floor":"1"}}}`)
	f.change(t, simulator.InstancePatch{Labels: map[string]*string{"floor": new("1")}})
	f.afterNextLook(t)
	f.change(t, simulator.InstancePatch{Labels: map[string]*string{"floor": new("2")}})
	if node := f.afterNextLook(t); node.Labels["floor"] != "2" {
		t.Errorf("label floor=%s, want the cloud's: it was the same before", node.Labels["floor"])
	}
	f.change(t, simulator.InstancePatch{Labels: map[string]*string{"floor": nil}})
	f.afterNextLook(t)
}

func (f *follower) testRename(t *testing.T) {
	before := f.Node(t, f.instance.Name)
	name := f.instance.Name
	f.instance = f.Cloud.Change(t, f.instance, simulator.InstancePatch{Name: new(name + "-renamed"), Type: new("renamed")})
	f.instance.Name = name // The kubelet keeps the Node's name and hostname.
	f.awaits(t)
	if now := f.Node(t, name); now.UID != before.UID {
		t.Errorf("the Node has UID %s, was %s", now.UID, before.UID)
	}
	f.Cloud.Change(t, f.instance, simulator.InstancePatch{Name: new(name)})
}

func (f *follower) testMove(t *testing.T) {
	const event = "Warning CloudLocationChanged:"
	before := f.instance.Zone
	f.change(t, simulator.InstancePatch{Zone: new("sim-1z")})
	f.AwaitEvent(t, f.instance.Name, expect.Soon, event)
	for range 3 {
		node := f.afterNextLook(t)
		for _, label := range []string{corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone} {
			if node.Labels[label] != before {
				t.Errorf("label %s=%s is rewritten, want %s", label, node.Labels[label], before)
			}
		}
	}
	told, err := f.Events(t.Context(), f.instance.Name)
	if err != nil {
		t.Fatal(err)
	}
	if n := expect.CountPrefix(told, event); n != 1 {
		t.Errorf("%d events, want one: %q", n, told)
	}
	for _, e := range told {
		if strings.HasPrefix(e, event) && (!strings.Contains(e, "sim-1z") || !strings.Contains(e, before)) {
			t.Errorf("event %q does not name both zones", e)
		}
	}
	f.change(t, simulator.InstancePatch{Zone: &before})
	f.awaits(t)
}

// With the flag for upstream's behaviour, labels are written once. Addresses are still
// kept up to date.
func TestLabelsStayWhereTheyAreToBeLeftAlone(t *testing.T) {
	b := onShared(t)
	cloud := b.NewCloud(t)
	i, node := b.Pair(t, cloud, simulator.Instance{Name: b.Name("none"), Labels: map[string]string{"rack": "r1"}})
	b.Daemon(t, daemon.Setup{Cloud: cloud.URL, Flags: []string{"--node-status-update-frequency=500ms", "--node-label-reconcile=none"}})
	b.AwaitNode(t, node.Name, expect.Soon, nodes.As(i, nodes.AddressesOf(i)...))

	now := cloud.Change(t, i, simulator.InstancePatch{
		Type: new("huge"), Labels: map[string]*string{"rack": new("r2"), "row": new("7")},
		Addresses: nodes.CloudAddresses("InternalIP=127.0.79.1"),
	})
	got := b.AwaitNode(t, node.Name, expect.Soon, nodes.As(i, nodes.AddressesOf(now)...))
	if row, ok := got.Labels["row"]; ok {
		t.Errorf("label row=%s is there, want none", row)
	}
	if record, ok := got.Annotations[labelRecord]; ok {
		t.Errorf("annotation %s=%s is there, want none", labelRecord, record)
	}
}

// An idle cluster costs nothing (P1): while nothing changes, nothing is written.
// This is true even for a Node whose addresses come from the cloud in an order that
// mixes their types.
func TestNothingIsWrittenWhileNothingChanges(t *testing.T) {
	b := onShared(t)
	i := b.Kubelet(t, simulator.Instance{
		Name: b.Name("still"), Labels: map[string]string{"rack": "r1"},
		Addresses: nodes.CloudAddresses("ExternalIP=203.0.113.80", "InternalIP=127.0.80.1", "ExternalDNS=a.example.com", "InternalIP=fd00::80", "ExternalIP=2001:db8::80"),
	})
	b.Daemon(t, daemon.Setup{Flags: []string{"--node-status-update-frequency=500ms"}})
	b.AwaitNode(t, i.Name, expect.Soon, nodes.As(i, nodes.Addresses("ExternalIP=203.0.113.80", "ExternalIP=2001:db8::80",
		"InternalIP=127.0.80.1", "InternalIP=fd00::80", "ExternalDNS=a.example.com", "Hostname="+i.Name)...))
	b.AwaitEvent(t, i.Name, expect.Soon, "Normal Synced")

	mark := b.Audit(t).Mark()
	awaitCalls(t, b.Cloud, 6)
	if writes := b.Audit(t).Since(mark).OfDaemons().Writes(); len(writes) > 0 {
		t.Errorf("%d writes while nothing changed: %v", len(writes), writes)
	}
}

// awaitCalls waits until the cloud has been called this many more times.
func awaitCalls(t *testing.T, c *bed.Cloud, calls int64) {
	t.Helper()
	if err := c.ResetCalls(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		report, err := c.Calls(ctx)
		if err != nil {
			return err
		}
		if n := report.Count(); n < calls {
			return fmt.Errorf("the cloud was called %d times, want %d", n, calls)
		}
		return nil
	})
}

// A Node waits while the cloud offers no IP address, and a Node that gets another address is
// given to the load balancers once more.
func TestAddressThatComesLate(t *testing.T) {
	s := lbservice.New(t, onShared(t), 1)
	d := s.Runs(t, daemon.Setup{Flags: []string{"--node-status-update-frequency=500ms"}})
	i, node := s.Pair(t, s.Cloud, simulator.Instance{Name: s.Name("late"), Addresses: nodes.CloudAddresses("ExternalDNS=late.example.com")})
	s.AwaitEvent(t, node.Name, expect.Soon, "Warning CloudInitFailed: NoIPAddress")
	name := s.Balanced(t, "late")
	s.AwaitServing(t, name, s.Hosts...)
	i = s.Cloud.Change(t, i, simulator.InstancePatch{Addresses: nodes.CloudAddresses("InternalIP=127.0.81.1")})
	s.AwaitNode(t, node.Name, 2*time.Minute, nodes.As(i, nodes.AddressesOf(i)...))
	updates := func() int { return d.CountLogged("Load balancer call succeeded", name, "update") }
	awaitUpdates := func(least int) {
		expect.Within(t, expect.Soon, func(context.Context) error {
			if n := updates(); n < least {
				return fmt.Errorf("%d updates of the load balancer, want %d", n, least)
			}
			return nil
		})
	}
	awaitUpdates(1)
	before := updates()
	i = s.Cloud.Change(t, i, simulator.InstancePatch{Addresses: nodes.CloudAddresses("InternalIP=127.0.81.2")})
	s.AwaitNode(t, node.Name, expect.Soon, nodes.As(i, nodes.AddressesOf(i)...))
	awaitUpdates(before + 1)
}
