package simulator

import (
	"math"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

func (c Call) lists() bool { return strings.HasPrefix(string(c), "List") }

func (c Call) reads() bool { return c.lists() || strings.HasPrefix(string(c), "Get") }

func (c Call) creates() bool { return strings.HasPrefix(string(c), "Create") }

// hits reports whether a fault of this kind can hit a call.
func (k FaultKind) hits(call Call) bool {
	switch k {
	case FaultEmptyList, FaultTruncatedList:
		return call.lists()
	case FaultStale:
		return call.reads()
	case FaultInvisible:
		return !call.creates()
	case FaultLatency, FaultHang, FaultReset, FaultThrottle, FaultOutage, FaultDenied, FaultError, FaultNotFound, FaultLostReply:
	}
	return true
}

// setsView reports whether a fault of this kind changes what is seen instead
// of what becomes of the call.
func (k FaultKind) setsView() bool {
	switch k {
	case FaultEmptyList, FaultTruncatedList, FaultStale, FaultInvisible:
		return true
	case FaultLatency, FaultHang, FaultReset, FaultThrottle, FaultOutage, FaultDenied, FaultError, FaultNotFound, FaultLostReply:
	}
	return false
}

// checked is the fault with its defaults, or the first thing that is wrong with it.
func (f Fault) checked() (Fault, error) {
	f.Hits = 0
	if err := checkWord("name", f.Name); err != nil {
		return f, err
	}
	if !slices.Contains(FaultKinds(), f.Kind) {
		return f, invalid("kind", "%q is none of %s", f.Kind, list(FaultKinds()))
	}
	for _, call := range f.Calls {
		if !slices.Contains(CallNames(), call) {
			return f, invalid("calls", "%q is none of %s", call, list(CallNames()))
		}
		if !f.Kind.hits(call) {
			return f, invalid("calls", "a fault of kind %s cannot hit %s", f.Kind, call)
		}
	}
	if _, err := path.Match(f.Match, ""); err != nil {
		return f, invalid("match", "%q is no pattern: %v", f.Match, err)
	}
	switch {
	case f.Skip < 0:
		return f, invalid("skip", "must not be negative")
	case f.Count < 0:
		return f, invalid("count", "must not be negative")
	case !within(f.Probability, 0, 1):
		return f, invalid("probability", "must be between 0 and 1")
	}
	if err := f.checkForeign(); err != nil {
		return f, err
	}
	return f.completed()
}

// checkForeign refuses what belongs to another kind: it would have no effect.
func (f Fault) checkForeign() error {
	for _, s := range f.settings() {
		if s.given && !slices.Contains(s.kinds, f.Kind) {
			return invalid(s.name, "belongs to kind %s, not to %s", list(s.kinds), f.Kind)
		}
	}
	return nil
}

// setting is a field of a fault that belongs to some kinds only.
type setting struct {
	name  string
	given bool
	kinds []FaultKind
}

func (f Fault) settings() []setting {
	return []setting{
		{"latency", f.Latency != 0, []FaultKind{FaultLatency}},
		{"jitter", f.Jitter != 0, []FaultKind{FaultLatency}},
		{"rate", f.Rate != 0, []FaultKind{FaultThrottle}},
		{"burst", f.Burst != 0, []FaultKind{FaultThrottle}},
		{"status", f.Status != 0, []FaultKind{FaultDenied}},
		{"fraction", f.Fraction != 0, []FaultKind{FaultTruncatedList}},
		{"age", f.Age != 0, []FaultKind{FaultStale, FaultInvisible}},
	}
}

// completed checks and completes what belongs to the fault's own kind.
func (f Fault) completed() (Fault, error) {
	switch f.Kind {
	case FaultLatency:
		return f.latency()
	case FaultThrottle:
		return f.throttle()
	case FaultDenied:
		return f.denied()
	case FaultTruncatedList:
		return f.truncatedList()
	case FaultStale, FaultInvisible:
		return f.aged()
	case FaultHang, FaultReset, FaultOutage, FaultError, FaultNotFound, FaultEmptyList, FaultLostReply:
	}
	return f, nil
}

func (f Fault) latency() (Fault, error) {
	if f.Latency < 0 || f.Jitter < 0 || f.Latency+f.Jitter == 0 {
		return f, invalid("latency", "must be positive, such as 30ms")
	}
	return f, nil
}

func (f Fault) throttle() (Fault, error) {
	switch {
	case !within(f.Rate, math.SmallestNonzeroFloat64, math.MaxFloat64):
		return f, invalid("rate", "must be positive: calls a second")
	case f.Burst < 0:
		return f, invalid("burst", "must not be negative")
	case f.Burst == 0:
		f.Burst = int(math.Ceil(min(f.Rate, math.MaxInt32)))
	}
	return f, nil
}

func (f Fault) denied() (Fault, error) {
	switch f.Status {
	case 0:
		f.Status = http.StatusForbidden
	case http.StatusUnauthorized, http.StatusForbidden:
	default:
		return f, invalid("status", "must be 401 or 403")
	}
	return f, nil
}

func (f Fault) truncatedList() (Fault, error) {
	switch {
	case f.Match != "":
		return f, invalid("match", "a truncated list knows no instances; emptyList leaves single ones out")
	case !within(f.Fraction, 0, 1):
		return f, invalid("fraction", "must be between 0 and 1")
	case f.Fraction == 0:
		f.Fraction = 0.5
	}
	return f, nil
}

func (f Fault) aged() (Fault, error) {
	switch {
	case f.Age < 0:
		return f, invalid("age", "must not be negative")
	case f.Age == 0:
		f.Age = Duration(time.Minute)
	}
	return f, nil
}

// within is false for NaN.
func within(x, lowest, highest float64) bool { return x >= lowest && x <= highest }
