package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// profiles returns the quotas of well-known clouds. The clouds publish these numbers,
// or their users have measured them. An account may have other ones.
func profiles() map[string][]bucket {
	const hour, minute = 3600.0, 60.0
	return map[string][]bucket{
		"hcloud": {{Name: "all", Calls: []string{"all"}, Rate: 1, Burst: 3600}},
		"digitalocean": {
			{Name: "hourly", Calls: []string{"all"}, Rate: 5000 / hour, Burst: 5000},
			{Name: "minutely", Calls: []string{"all"}, Rate: 250 / minute, Burst: 250},
		},
		"linode": {
			{Name: "lists", Calls: []string{"lists"}, Rate: 1.7, Burst: 200},
			{Name: "others", Calls: []string{"gets", "changes"}, Rate: 13, Burst: 800},
		},
		"ec2": {
			{Name: "reads", Calls: []string{"reads"}, Rate: 20, Burst: 100},
			{Name: "changes", Calls: []string{"changes"}, Rate: 5, Burst: 50},
		},
		"azure": {
			{Name: "reads", Calls: []string{"reads"}, Rate: 25, Burst: 250},
			{Name: "changes", Calls: []string{"changes"}, Rate: 10, Burst: 200},
		},
	}
}

// QuotaProfiles returns the names of all profiles.
func QuotaProfiles() []string { return slices.Sorted(maps.Keys(profiles())) }

// QuotaProfile returns the request quota of a well-known cloud. Each bucket is a fault of
// the kind "throttle" that applies to some calls. It returns false if there is no profile of
// this name.
func QuotaProfile(name string) (buckets []wire.Fault, known bool) {
	for _, b := range profiles()[name] {
		buckets = append(buckets, b.fault())
	}
	return buckets, len(buckets) > 0
}

// bucket is one bucket of a quota, as a file describes it.
type bucket struct {
	Name string `json:"name"`
	// Calls has names of calls and of groups.
	Calls []string `json:"calls"`
	// Rate is in calls a second. Burst is the number of calls that are allowed at once
	// after a pause; 0 means the calls of one second.
	Rate  float64 `json:"rate"`
	Burst int     `json:"burst"`
	// Tokens is the number of calls that are allowed at once at the start; nil means
	// Burst.
	Tokens *int `json:"tokens"`
}

func isGet(call wire.Call) bool {
	return strings.HasPrefix(string(call), "Get") || strings.HasPrefix(string(call), "Watch")
}

// groups returns the names of sets of calls.
func groups() map[string]func(wire.Call) bool {
	return map[string]func(wire.Call) bool{
		"all":     func(wire.Call) bool { return true },
		"reads":   func(c wire.Call) bool { return lists(c) || isGet(c) },
		"lists":   lists,
		"gets":    isGet,
		"changes": func(c wire.Call) bool { return !lists(c) && !isGet(c) },
	}
}

// fault returns the bucket as a fault.
func (b bucket) fault() wire.Fault {
	f := wire.Fault{Name: b.Name, Kind: wire.FaultThrottle, Rate: b.Rate, Burst: b.Burst, Tokens: b.Tokens}
	if slices.Contains(b.Calls, "all") { // A fault without calls applies to all of them.
		return f
	}
	for _, call := range wire.CallNames() {
		if slices.ContainsFunc(b.Calls, func(word string) bool {
			isIn, isGroup := groups()[word]
			return word == string(call) || isGroup && isIn(call)
		}) {
			f.Calls = append(f.Calls, call)
		}
	}
	return f
}

// check returns an error if something is wrong with the bucket.
func (b bucket) check() error {
	if len(b.Calls) == 0 {
		return input.Invalid("calls", `is missing; "all" means all calls`)
	}
	for _, word := range b.Calls {
		_, isGroup := groups()[word]
		if !isGroup && !slices.Contains(wire.CallNames(), wire.Call(word)) {
			return input.Invalid("calls", "%q is neither a call, such as GetInstance, nor one of all, reads, lists, gets, changes", word)
		}
	}
	_, err := checked(b.fault())
	return err
}

// file is the content of a file.
type file struct {
	Buckets []bucket `json:"buckets"`
}

// ParseQuota reads the buckets from the YAML of a file. Its errors name the field that is
// wrong.
func ParseQuota(text []byte) ([]wire.Fault, error) {
	content, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	f, err := input.Decode[file](content)
	if err != nil {
		return nil, err
	}
	if len(f.Buckets) == 0 {
		return nil, input.Invalid("buckets", "is missing")
	}
	var all []wire.Fault
	names := map[string]bool{}
	for n, b := range f.Buckets {
		err := b.check()
		if names[b.Name] && err == nil {
			err = input.Invalid("name", "%s is there twice", b.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("buckets[%d].%w", n, err)
		}
		names[b.Name] = true
		all = append(all, b.fault())
	}
	return all, nil
}
