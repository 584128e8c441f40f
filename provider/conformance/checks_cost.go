package conformance

import (
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// costChecks returns the checks that count calls to the cloud.
func costChecks() []Check {
	needs := []Need{NeedMachines, NeedMeter}
	const budget = "The cloud's quota of calls bounds how large a cluster can be."
	return []Check{
		{
			ID: "cost/twenty-in-a-row", Level: Measured, Since: "0.2", Needs: needs, run: twentyInARow,
			Title:  "How many reads twenty equal questions make, one after the other",
			Source: "not part of the contract", Cost: budget,
		},
		{
			ID: "cost/twenty-at-once", Level: Measured, Since: "0.2", Needs: needs, run: twentyAtOnce,
			Title:  "How many reads twenty equal questions make at the same time",
			Source: "not part of the contract", Cost: budget,
		},
		{
			ID: "cost/sync-of-100", Level: Measured, Since: "0.2", Needs: needs, run: syncOf100,
			Title:  "How many reads it takes to ask about each of 100 Nodes",
			Source: "not part of the contract", Cost: budget,
		},
		{
			ID: "cost/accessors", Level: Core, Since: "0.2", Needs: []Need{NeedMeter}, run: accessors,
			Title:  "The accessors make no calls, give the same answer each time, and return no nil with true",
			Source: "cloudprovider.Interface: each accessor also returns true if the interface is supported",
			Cost:   "The daemon panics, or makes one more call each time it looks at a Node.",
		},
	}
}

func twentyInARow(t *trial) {
	n := joined(t.machine("a"))
	t.eventually(func() error { return t.present(n) })
	calls := t.counted(func() {
		for range 20 {
			_, _ = t.exists(t.ctx, n)
		}
	})
	t.measure("readsFor20InARow", float64(calls.Reads))
}

func twentyAtOnce(t *trial) {
	n := joined(t.machine("a"))
	t.eventually(func() error { return t.present(n) })
	calls := t.counted(func() {
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() {
				defer func() { _ = recover() }() // the check instances/parallel reports panics
				_, _ = t.exists(t.ctx, n)
			})
		}
		wait.Wait()
	})
	t.measure("readsFor20AtOnce", float64(calls.Reads))
}

func syncOf100(t *trial) {
	if t.suite.target.Live {
		t.notRunf("creates 100 machines, which costs too much in a real account")
	}
	const names = "0123456789"
	var nodes []*corev1.Node
	for _, tens := range names {
		for _, ones := range names {
			nodes = append(nodes, joined(t.machine(string([]rune{tens, ones}))))
		}
	}
	t.eventually(func() error { return t.present(nodes[len(nodes)-1]) })
	t.refresh()
	calls := t.counted(func() {
		for _, n := range nodes {
			_, _ = t.exists(t.ctx, n)
		}
	})
	t.measure("readsPerSync100", float64(calls.Reads))
}

func accessors(t *trial) {
	all := map[string]func() (any, bool){
		"InstancesV2":  func() (any, bool) { return t.provider.InstancesV2() },
		"LoadBalancer": func() (any, bool) { return t.provider.LoadBalancer() },
		"Routes":       func() (any, bool) { return t.provider.Routes() },
		"Instances":    func() (any, bool) { return t.provider.Instances() },
		"Zones":        func() (any, bool) { return t.provider.Zones() },
		"Clusters":     func() (any, bool) { return t.provider.Clusters() },
	}
	calls := t.counted(func() {
		for name, accessor := range all {
			_, first := accessor()
			for range 1000 {
				value, supported := accessor()
				switch {
				case supported != first:
					t.failf("%s() returned %v and then %v", name, first, supported)
				case supported && isNil(value):
					t.failf("%s() = nil, true", name)
				}
			}
		}
		if t.provider.ProviderName() == "" {
			t.errorf("ProviderName() is empty")
		}
		_ = t.provider.HasClusterID()
	})
	if calls.Reads+calls.Writes > 0 {
		t.errorf("1,000 calls of each accessor have made %d calls of the cloud; want none", calls.Reads+calls.Writes)
	}
}

// isNil reports whether a value is nil, or holds a nil pointer.
func isNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
