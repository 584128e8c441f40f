package simulated

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

func TestFastPathsCanBeSwitchedOff(t *testing.T) {
	for _, without := range []optional{
		{},
		{Batches: true},
		{Lists: true},
		{Batches: true, Lists: true},
	} {
		v2 := (&instances{}).offering(without)
		_, batches := v2.(provider.InstanceMetadataBatcher)
		_, lists := v2.(provider.InstanceLister)
		_, watches := v2.(provider.InstanceWatcher)
		if not := (optional{Batches: !batches, Lists: !lists}); not != without || lists != watches {
			t.Errorf("%+v is not offered, want %+v", not, without)
		}
	}
}

func TestList(t *testing.T) {
	f := newFixture(t, simulator.Config{}, "pageSize: 2")
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		f.create(t, simulator.Instance{Name: name, Labels: map[string]string{"of": name}})
	}
	lister := f.instances.(provider.InstanceLister)
	var ids, labels []string
	for token, more := "", true; more; {
		page, err := lister.ListInstances(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Instances {
			ids, labels = append(ids, m.ProviderID), append(labels, m.AdditionalLabels["of"])
		}
		token, more = page.Next, page.Next != ""
	}
	diff(t, "instances", []string{"simulated://sim-1/i-00000001", "simulated://sim-1/i-00000002", "simulated://sim-1/i-00000003"}, ids)
	diff(t, "labels", []string{"node-1", "node-2", "node-3"}, labels)

	f.set(t, simulator.Fault{Kind: simulator.FaultOutage})
	if page, err := lister.ListInstances(t.Context(), ""); err == nil || len(page.Instances) > 0 {
		t.Errorf("page %v, %v in an outage", page, err)
	}
}

func TestWatch(t *testing.T) {
	f := newFixture(t, simulator.Config{})
	watcher := f.instances.(provider.InstanceWatcher)
	watch := func(token string) provider.InstanceChanges {
		t.Helper()
		got, err := watcher.WatchInstances(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	f.create(t, simulator.Instance{Name: "before"})
	now := watch("")
	diff(t, "changes before the watch began", 0, len(now.Changed))
	f.create(t, simulator.Instance{Name: "node-1"})
	f.create(t, simulator.Instance{Name: "node-2"})
	got := watch(now.Resume)
	diff(t, "changed", []provider.InstanceRef{{ProviderID: "simulated://sim-1/i-00000002", NodeName: "node-1"}, {ProviderID: "simulated://sim-1/i-00000003", NodeName: "node-2"}}, got.Changed)
	diff(t, "the same question again", got, watch(now.Resume))

	_, err := watcher.WatchInstances(t.Context(), "of-another-cloud")
	if !errors.Is(err, provider.ErrWatchExpired) {
		t.Errorf("unknown token: %v, want %v", err, provider.ErrWatchExpired)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := watcher.WatchInstances(short, got.Resume); err == nil || errors.Is(err, provider.ErrWatchExpired) {
		t.Errorf("the caller has given up: %v", err)
	}
}
