package simulator

import (
	"path"
	"time"
)

// view is what faults make of what a caller sees. The zero view is the truth.
type view struct {
	stale, invisible, emptied, truncated []lens
}

// lens is one fault that changes what is seen, of what it matches.
type lens struct {
	match    string
	age      time.Duration
	fraction float64
}

func (l lens) matches(i identity) bool {
	return l.match == "" || matches(l.match, i.id) || matches(l.match, i.name)
}

// matches reports whether the pattern, which is well-formed, matches.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// through is the view through one fault more.
func (v view) through(f Fault) view {
	l := lens{match: f.Match, age: time.Duration(f.Age), fraction: f.Fraction}
	switch f.Kind {
	case FaultStale:
		v.stale = append(v.stale, l)
	case FaultInvisible:
		v.invisible = append(v.invisible, l)
	case FaultEmptyList:
		v.emptied = append(v.emptied, l)
	case FaultTruncatedList:
		v.truncated = append(v.truncated, l)
	case FaultLatency, FaultHang, FaultReset, FaultThrottle, FaultOutage, FaultDenied, FaultError, FaultNotFound, FaultLostReply:
	}
	return v
}

// hides reports whether a resource is too young to be seen.
func (v view) hides(i identity, now time.Time) bool {
	for _, l := range v.invisible {
		if l.matches(i) && now.Before(i.created.Add(l.age)) {
			return true
		}
	}
	return false
}

// leavesOut reports whether a resource is missing in lists.
func (v view) leavesOut(i identity) bool {
	for _, l := range v.emptied {
		if l.matches(i) {
			return true
		}
	}
	return false
}

// cut is how many of n items of a page are left.
func (v view) cut(n int) int {
	for _, l := range v.truncated {
		n -= min(n, max(1, int(l.fraction*float64(n))))
	}
	return n
}
