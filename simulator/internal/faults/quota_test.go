package faults

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// Each profile must limit each call, and each of its buckets must be valid.
func TestProfiles(t *testing.T) {
	for _, name := range QuotaProfiles() {
		buckets, known := QuotaProfile(name)
		if !known {
			t.Errorf("%s is not known", name)
		}
		for _, b := range profiles()[name] {
			if err := b.check(); err != nil {
				t.Errorf("%s, bucket %s: %v", name, b.Name, err)
			}
		}
		for _, call := range wire.CallNames() {
			n := 0
			for _, b := range buckets {
				if len(b.Calls) == 0 || slices.Contains(b.Calls, call) {
					n++
				}
			}
			if want := map[string]int{"digitalocean": 2}[name]; n != max(want, 1) {
				t.Errorf("%s: %d buckets limit %s", name, n, call)
			}
		}
	}
	if _, known := QuotaProfile("nimbus"); known {
		t.Error("nimbus is known")
	}
}

func TestGroups(t *testing.T) {
	for group, want := range map[string]string{
		"lists":   "ListInstances ListLoadBalancers ListStaticIPs ListRoutes ListVolumes",
		"gets":    "GetInstance WatchInstances GetLoadBalancer GetStaticIP GetRoute GetVolume",
		"reads":   "ListInstances GetInstance WatchInstances ListLoadBalancers GetLoadBalancer ListStaticIPs GetStaticIP ListRoutes GetRoute ListVolumes GetVolume",
		"all":     "",
		"changes": "CreateInstance UpdateInstance StartInstance StopInstance TerminateInstance CreateLoadBalancer UpdateLoadBalancer DeleteLoadBalancer SetBackends CreateStaticIP ReleaseStaticIP CreateRoute DeleteRoute ChangeRoutes CreateVolume DeleteVolume",
	} {
		var calls []string
		for _, call := range (bucket{Calls: []string{group}}).fault().Calls {
			calls = append(calls, string(call))
		}
		if got := strings.Join(calls, " "); got != want {
			t.Errorf("%s: got %s, want %s", group, got, want)
		}
	}
}

func TestParseQuota(t *testing.T) {
	one := func(lines string) string { return "buckets:\n- {name: x, calls: [all], rate: 1}\n- " + lines }
	for name, row := range map[string]struct {
		text string
		want []wire.Fault
		err  string
	}{
		"Minimal": {one("{name: z, calls: [lists, GetRoute], rate: 2.5, burst: 5, tokens: 0}"), []wire.Fault{
			{Name: "x", Kind: wire.FaultThrottle, Rate: 1},
			{
				Name: "z", Kind: wire.FaultThrottle, Rate: 2.5, Burst: 5, Tokens: new(int),
				Calls: []wire.Call{wire.ListInstances, wire.ListLoadBalancers, wire.ListStaticIPs, wire.ListRoutes, wire.GetRoute, wire.ListVolumes},
			},
		}, ""},
		"Empty":         {"", nil, "buckets: is missing"},
		"UnknownField":  {one("{name: z, calls: [all], rates: 1}"), nil, "rates: is not a field here"},
		"WrongType":     {one("{name: z, calls: [all], rate: fast}"), nil, "buckets.rate: must be a number, not string"},
		"TwiceTheField": {one("{name: z, name: z}"), nil, `yaml: unmarshal errors:` + "\n" + `  line 3: key "name" already set in map`},
		"NoName":        {one("{calls: [all], rate: 1}"), nil, "buckets[1].name: must not be empty"},
		"TwiceTheName":  {one("{name: x, calls: [all], rate: 1}"), nil, "buckets[1].name: x is there twice"},
		"NoCalls":       {one("{name: z, rate: 1}"), nil, `buckets[1].calls: is missing; "all" means all calls`},
		"UnknownCall":   {one("{name: z, calls: [Reboot], rate: 1}"), nil, `buckets[1].calls: "Reboot" is neither a call, such as GetInstance, nor one of all, reads, lists, gets, changes`},
		"NoRate":        {one("{name: z, calls: [all]}"), nil, "buckets[1].rate: must be positive: calls a second"},
		"TooManyTokens": {one("{name: z, calls: [all], rate: 1, burst: 2, tokens: 3}"), nil, "buckets[1].tokens: must be between 0 and the burst, which is 2"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseQuota([]byte(row.text))
			text := ""
			if err != nil {
				text = err.Error()
			}
			if d := cmp.Diff(row.err, text); d != "" {
				t.Errorf("error (-want +got):\n%s", d)
			}
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("buckets (-want +got):\n%s", d)
			}
		})
	}
}
