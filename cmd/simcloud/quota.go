package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// quotaOptions are the flags of the request quota.
type quotaOptions struct {
	// quota is a number, the name of a profile, or a file.
	quota string
	burst int
	empty bool
}

// buckets returns the buckets of the quota as permanent faults.
func (o quotaOptions) buckets() ([]simulator.Fault, error) {
	buckets, err := o.full()
	if err != nil {
		return nil, err
	}
	for n := range buckets {
		if o.empty {
			buckets[n].Tokens = new(int)
		}
	}
	return buckets, nil
}

// full returns the buckets without regard to the flag --quota-empty.
func (o quotaOptions) full() ([]simulator.Fault, error) {
	if rate, err := strconv.ParseFloat(o.quota, 64); err == nil || o.quota == "" {
		return o.one(rate), nil
	}
	if o.burst != 0 {
		return nil, fmt.Errorf("--quota-burst needs a number for --quota, not %s, which has its own", o.quota)
	}
	buckets, known := simulator.QuotaProfile(o.quota)
	if !known {
		text, err := os.ReadFile(o.quota)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("--quota: %q is not a number, not a profile (%s), and there is no such file", o.quota, strings.Join(simulator.QuotaProfiles(), ", "))
		}
		if err != nil {
			return nil, fmt.Errorf("--quota: %w", err)
		}
		if buckets, err = simulator.ParseQuota(text); err != nil {
			return nil, fmt.Errorf("--quota: %s: %w", o.quota, err)
		}
	}
	for n := range buckets {
		buckets[n].Name = "--quota:" + buckets[n].Name
	}
	return buckets, nil
}

// one returns the only bucket of a quota that is a number. It returns no bucket if there
// is no quota.
func (o quotaOptions) one(rate float64) []simulator.Fault {
	if rate == 0 && o.burst == 0 {
		return nil
	}
	burst := o.burst
	if burst == 0 {
		burst = int(math.Ceil(2 * rate))
	}
	return []simulator.Fault{{Name: "--quota", Kind: simulator.FaultThrottle, Rate: rate, Burst: burst}}
}
