package simulator

import "github.com/fairlead-k8s/fairlead/simulator/internal/quota"

// QuotaProfiles returns the names of the request quotas of well-known clouds.
func QuotaProfiles() []string { return quota.Profiles() }

// QuotaProfile returns the request quota of a well-known cloud. Each of its faults is one
// bucket. It returns false if there is no profile of this name.
func QuotaProfile(name string) (buckets []Fault, known bool) { return quota.Profile(name) }

// ParseQuota reads a request quota from YAML. Each of the faults is one bucket. The
// error names the field that is wrong.
func ParseQuota(text []byte) (buckets []Fault, err error) { return quota.Parse(text) }
