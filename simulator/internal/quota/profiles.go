package quota

import (
	"maps"
	"slices"

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

// Profiles returns the names of all profiles.
func Profiles() []string { return slices.Sorted(maps.Keys(profiles())) }

// Profile returns the buckets of a profile. It returns false if there is no profile of
// this name.
func Profile(name string) (buckets []wire.Fault, known bool) {
	for _, b := range profiles()[name] {
		buckets = append(buckets, b.fault())
	}
	return buckets, len(buckets) > 0
}
