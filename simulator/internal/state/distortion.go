package state

import (
	"path"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// Distortions are the differences between the data that a caller sees and the
// true data. The zero value has no differences.
type Distortions struct {
	stale, invisible, emptied, truncated []distortion
	doubled                              bool
}

// distortion is one fault that changes how callers see the resources that it
// matches.
type distortion struct {
	match    string
	age      time.Duration
	fraction float64
}

func (d distortion) matches(i identity) bool {
	return d.match == "" || matches(d.match, i.id) || matches(d.match, i.name)
}

// matches reports whether the pattern matches the name. The pattern must be
// well-formed.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// With adds the distortion of a fault to v and returns the result. If the fault does
// not change what a caller sees, With returns v unchanged.
func (v Distortions) With(f wire.Fault) Distortions {
	d := distortion{match: f.Match, age: time.Duration(f.Age), fraction: f.Fraction}
	switch f.Kind {
	case wire.FaultStale:
		v.stale = append(v.stale, d)
	case wire.FaultInvisible:
		v.invisible = append(v.invisible, d)
	case wire.FaultEmptyList:
		v.emptied = append(v.emptied, d)
	case wire.FaultTruncatedList:
		v.truncated = append(v.truncated, d)
	case wire.FaultDoubledList:
		v.doubled = true
	case wire.FaultLatency, wire.FaultHang, wire.FaultReset, wire.FaultThrottle, wire.FaultOutage, wire.FaultDenied, wire.FaultError, wire.FaultNotFound, wire.FaultLostReply:
	}
	return v
}

// hides reports whether a resource is too young to be seen.
func (v Distortions) hides(i identity, now time.Time) bool {
	for _, d := range v.invisible {
		if d.matches(i) && now.Before(i.created.Add(d.age)) {
			return true
		}
	}
	return false
}

// leavesOut reports whether a resource is missing from lists.
func (v Distortions) leavesOut(i identity) bool {
	for _, d := range v.emptied {
		if d.matches(i) {
			return true
		}
	}
	return false
}

// cut returns how many of n items are left on a truncated page.
func (v Distortions) cut(n int) int {
	for _, d := range v.truncated {
		n -= min(n, max(1, int(d.fraction*float64(n))))
	}
	return n
}
