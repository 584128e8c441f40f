package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// fuzzed is the number of Nodes of FuzzFastPaths.
const fuzzed = 5

// wrongLists has the faults of a list, and wrongWatches has the faults of a watch. The
// parameter former has the instances as they were at an earlier time.
var (
	wrongLists = []func(p *provider.InstancePage, former []cloudprovider.InstanceMetadata) error{
		func(*provider.InstancePage, []cloudprovider.InstanceMetadata) error { return nil },
		func(*provider.InstancePage, []cloudprovider.InstanceMetadata) error { return errors.New("no") },
		func(p *provider.InstancePage, _ []cloudprovider.InstanceMetadata) error {
			p.Instances = p.Instances[:len(p.Instances)/2]
			return nil
		},
		func(p *provider.InstancePage, _ []cloudprovider.InstanceMetadata) error { p.Next = ""; return nil },
		func(p *provider.InstancePage, _ []cloudprovider.InstanceMetadata) error { p.Next = "1"; return nil },
		func(p *provider.InstancePage, _ []cloudprovider.InstanceMetadata) error {
			slices.Reverse(p.Instances)
			return nil
		},
		func(p *provider.InstancePage, _ []cloudprovider.InstanceMetadata) error {
			p.Instances = append(p.Instances, p.Instances...)
			return nil
		},
		func(p *provider.InstancePage, former []cloudprovider.InstanceMetadata) error {
			p.Instances = append(p.Instances, former...)
			return nil
		},
		func(p *provider.InstancePage, former []cloudprovider.InstanceMetadata) error {
			p.Instances = former
			return nil
		},
		func(p *provider.InstancePage, former []cloudprovider.InstanceMetadata) error {
			p.Instances, p.AsOf = former, time.Now().Add(-time.Hour)
			return nil
		},
		func(p *provider.InstancePage, former []cloudprovider.InstanceMetadata) error { // each instance has the labels of another one
			for n := range p.Instances {
				p.Instances[n].AdditionalLabels = former[(n+1)%len(former)].AdditionalLabels
			}
			return nil
		},
		func(p *provider.InstancePage, _ []cloudprovider.InstanceMetadata) error { // only provider IDs
			for n := range p.Instances {
				p.Instances[n] = cloudprovider.InstanceMetadata{ProviderID: p.Instances[n].ProviderID}
			}
			return nil
		},
	}
	wrongWatches = []func(ctx context.Context, a *provider.InstanceChanges) error{
		func(context.Context, *provider.InstanceChanges) error { return nil },
		func(context.Context, *provider.InstanceChanges) error { return errors.New("no") },
		func(context.Context, *provider.InstanceChanges) error { return provider.ErrWatchExpired },
		func(ctx context.Context, _ *provider.InstanceChanges) error { <-ctx.Done(); return ctx.Err() },
		func(_ context.Context, a *provider.InstanceChanges) error { a.Changed = nil; return nil },
		func(_ context.Context, a *provider.InstanceChanges) error { slices.Reverse(a.Changed); return nil },
		func(_ context.Context, a *provider.InstanceChanges) error { a.Resume = ""; return nil },
		func(_ context.Context, a *provider.InstanceChanges) error { a.Resume = "0"; return nil },
		func(_ context.Context, a *provider.InstanceChanges) error {
			a.Changed = []provider.InstanceRef{{ProviderID: "p://n001", NodeName: "n002"}, {NodeName: "n003"}, {}, {NodeName: "unknown"}}
			return nil
		},
		func(context.Context, *provider.InstanceChanges) error { time.Sleep(4 * time.Minute); return nil },
	}
)

// FuzzFastPaths changes instances while the list and the watch go wrong. Whatever they
// say, a Node gets only labels that its own instance has had. It never gets an older
// label after a newer one. No Node is deleted, and none gets another provider ID. Once
// the faults have ended, each Node matches its instance after two long periods and a
// short one.
func FuzzFastPaths(f *testing.F) {
	f.Add([]byte{0, 1, 4, 60})
	for n := range len(wrongLists) {
		f.Add([]byte{4, 5, 2, byte(n), 1, 0, 4, 12, 1, 1, 3, 4, 1, 2, 4, 40})
	}
	for n := range len(wrongWatches) {
		f.Add([]byte{4, 50, 3, byte(n), 1, 0, 0, 3, 1, 0, 4, 7, 5, 3, 1, 1, 4, 40, 6, 3, 2, 8})
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 60 {
			t.Skip("long enough")
		}
		synctest.Test(t, func(t *testing.T) { play(t, script) })
	})
}

func play(t *testing.T, script []byte) {
	t.Helper()
	q := beginHinted(t, fuzzed)
	defer func() { q.stop() }()
	q.vendor.set(func(h *hints) { h.pageSize = 2 })
	truth, shown := map[string]int{}, map[string]int{}
	for n := 0; n+1 < len(script); n += 2 {
		argument := int(script[n+1])
		name := nameOf(argument % fuzzed)
		switch script[n] % 7 {
		case 0:
			q.after(time.Duration(argument) * time.Second)
		case 1:
			truth[name]++
			q.vendor.change(name, fmt.Sprintf("%s-%d", name, truth[name]))
		case 2:
			q.vendor.goWrong(wrongLists[argument%len(wrongLists)])
		case 3:
			q.vendor.set(func(h *hints) { h.watch = wrongWatches[argument%len(wrongWatches)] })
		case 4:
			q.after(time.Duration(argument%64) * time.Minute)
		case 5:
			q.vendor.hide(name, true)
		case 6:
			q.vendor.hide(name, false)
		}
		synctest.Wait()
		checkShown(q, truth, shown)
	}
	q.vendor.set(func(h *hints) { h.list, h.watch = nil, nil })
	for n := range fuzzed {
		q.vendor.hide(nameOf(n), false)
	}
	q.after(2*longer*hintedPeriod + hintedPeriod)
	checkShown(q, truth, shown)
	for name, version := range truth {
		if shown[name] != version {
			t.Errorf("Node %s shows version %d of its instance, which has %d", name, shown[name], version)
		}
	}
}

// goWrong spoils the list with the given fault from now on. The fault gets the present
// instances as the parameter former, even after they have changed.
func (v *vendor) goWrong(wrong func(*provider.InstancePage, []cloudprovider.InstanceMetadata) error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	former := slices.Collect(maps.Values(v.instances))
	slices.SortFunc(former, func(a, b cloudprovider.InstanceMetadata) int { return strings.Compare(a.ProviderID, b.ProviderID) })
	v.hints.list = func(_ string, p *provider.InstancePage) error {
		if len(former) == 0 {
			return nil
		}
		return wrong(p, slices.Clone(former))
	}
}

// hide removes an instance from the cloud if hidden is true, and brings it back
// otherwise.
func (v *vendor) hide(name string, hidden bool) { //nolint:revive // flag-parameter: a script says which
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.hidden == nil {
		v.hidden = map[string]cloudprovider.InstanceMetadata{}
	}
	from, to := v.hidden, v.instances
	if hidden {
		from, to = to, from
	}
	if i, ok := from[name]; ok {
		to[name] = i
		delete(from, name)
	}
}

// checkShown checks the labels that the Nodes show, and records them.
func checkShown(q *quirky, truth, shown map[string]int) {
	q.t.Helper()
	for n := range fuzzed {
		name := nameOf(n)
		node := q.node(name)
		if node.Spec.ProviderID != "p://"+name {
			q.t.Errorf("Node %s has provider ID %q", name, node.Spec.ProviderID)
		}
		version := 0
		if rack := node.Labels["rack"]; rack != "a" {
			own, number, _ := strings.Cut(rack, "-")
			var err error
			if version, err = strconv.Atoi(number); err != nil || own != name {
				q.t.Errorf("Node %s has the label %q", name, rack)
			}
		}
		if version < shown[name] || version > truth[name] {
			q.t.Errorf("Node %s shows version %d after version %d, its instance has %d", name, version, shown[name], truth[name])
		}
		shown[name] = version
	}
}
