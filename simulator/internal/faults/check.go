package faults

import (
	"math"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func lists(call wire.Call) bool { return strings.HasPrefix(string(call), "List") }

func reads(call wire.Call) bool { return lists(call) || strings.HasPrefix(string(call), "Get") }

// maxLatency is the maximum of both the latency and the jitter of a fault. With this
// limit, the sum of many delays does not overflow a duration.
const maxLatency = wire.Duration(24 * time.Hour)

// hits reports whether a fault of this kind can hit a call.
func hits(k wire.FaultKind, call wire.Call) bool {
	switch k {
	case wire.FaultEmptyList:
		return lists(call) || call == wire.WatchInstances
	case wire.FaultTruncatedList, wire.FaultDoubledList:
		return lists(call)
	case wire.FaultStale:
		return reads(call)
	case wire.FaultInvisible:
		return !strings.HasPrefix(string(call), "Create")
	case wire.FaultLatency, wire.FaultHang, wire.FaultReset, wire.FaultThrottle, wire.FaultOutage, wire.FaultDenied, wire.FaultError, wire.FaultNotFound, wire.FaultLostReply:
	}
	return true
}

// distorts reports whether a fault of this kind changes the data that a call
// sees. The other kinds change whether or when the call succeeds.
func distorts(k wire.FaultKind) bool {
	switch k {
	case wire.FaultEmptyList, wire.FaultTruncatedList, wire.FaultDoubledList, wire.FaultStale, wire.FaultInvisible:
		return true
	case wire.FaultLatency, wire.FaultHang, wire.FaultReset, wire.FaultThrottle, wire.FaultOutage, wire.FaultDenied, wire.FaultError, wire.FaultNotFound, wire.FaultLostReply:
	}
	return false
}

// checked checks a fault and returns it with its defaults.
func checked(f wire.Fault) (wire.Fault, error) {
	f.Hits = 0
	if err := input.CheckWord("name", f.Name); err != nil {
		return f, err
	}
	if err := input.CheckOneOf("kind", f.Kind, wire.FaultKinds()); err != nil {
		return f, err
	}
	for _, call := range f.Calls {
		if err := input.CheckOneOf("calls", call, wire.CallNames()); err != nil {
			return f, err
		}
		if !hits(f.Kind, call) {
			return f, input.Invalid("calls", "a fault of kind %s cannot hit %s", f.Kind, call)
		}
	}
	if _, err := path.Match(f.Match, ""); err != nil {
		return f, input.Invalid("match", "%q is not a pattern: %v", f.Match, err)
	}
	switch {
	case f.Skip < 0:
		return f, input.Invalid("skip", "must not be negative")
	case f.Count < 0:
		return f, input.Invalid("count", "must not be negative")
	case !within(f.Probability, 0, 1):
		return f, input.Invalid("probability", "must be between 0 and 1")
	}
	if err := checkForeign(f); err != nil {
		return f, err
	}
	return completed(f)
}

// checkForeign refuses settings that belong to other kinds of faults, because
// they would have no effect.
func checkForeign(f wire.Fault) error {
	for _, s := range settings(f) {
		if s.given && !slices.Contains(s.kinds, f.Kind) {
			return input.Invalid(s.name, "belongs to kind %s, not to %s", input.List(s.kinds), f.Kind)
		}
	}
	return nil
}

// setting is a field that only some kinds of faults have.
type setting struct {
	name  string
	given bool
	kinds []wire.FaultKind
}

func settings(f wire.Fault) []setting {
	return []setting{
		{"latency", f.Latency != 0, []wire.FaultKind{wire.FaultLatency}},
		{"jitter", f.Jitter != 0, []wire.FaultKind{wire.FaultLatency}},
		{"rate", f.Rate != 0, []wire.FaultKind{wire.FaultThrottle}},
		{"burst", f.Burst != 0, []wire.FaultKind{wire.FaultThrottle}},
		{"tokens", f.Tokens != nil, []wire.FaultKind{wire.FaultThrottle}},
		{"status", f.Status != 0, []wire.FaultKind{wire.FaultDenied}},
		{"fraction", f.Fraction != 0, []wire.FaultKind{wire.FaultTruncatedList}},
		{"age", f.Age != 0, []wire.FaultKind{wire.FaultStale, wire.FaultInvisible}},
	}
}

// completed checks the settings of the fault's own kind and adds their
// defaults.
func completed(f wire.Fault) (wire.Fault, error) {
	switch f.Kind {
	case wire.FaultLatency:
		return latency(f)
	case wire.FaultThrottle:
		return throttle(f)
	case wire.FaultDenied:
		return denied(f)
	case wire.FaultTruncatedList:
		return truncatedList(f)
	case wire.FaultDoubledList:
		if f.Match != "" {
			return f, input.Invalid("match", "doubledList has no match")
		}
	case wire.FaultStale, wire.FaultInvisible:
		return aged(f)
	case wire.FaultHang, wire.FaultReset, wire.FaultOutage, wire.FaultError, wire.FaultNotFound, wire.FaultEmptyList, wire.FaultLostReply:
	}
	return f, nil
}

func latency(f wire.Fault) (wire.Fault, error) {
	switch {
	case f.Latency < 0 || f.Jitter < 0 || f.Latency == 0 && f.Jitter == 0:
		return f, input.Invalid("latency", "must be positive, such as 30ms")
	case f.Latency > maxLatency || f.Jitter > maxLatency:
		return f, input.Invalid("latency", "and jitter must not be longer than %s; use kind hang for a call without an end", maxLatency)
	}
	return f, nil
}

func throttle(f wire.Fault) (wire.Fault, error) {
	switch {
	case !within(f.Rate, math.SmallestNonzeroFloat64, math.MaxFloat64):
		return f, input.Invalid("rate", "must be positive: calls a second")
	case f.Burst < 0:
		return f, input.Invalid("burst", "must not be negative")
	case f.Burst == 0:
		f.Burst = int(math.Ceil(min(f.Rate, math.MaxInt32)))
	}
	if f.Tokens != nil && (*f.Tokens < 0 || *f.Tokens > f.Burst) {
		return f, input.Invalid("tokens", "must be between 0 and the burst, which is %d", f.Burst)
	}
	return f, nil
}

func denied(f wire.Fault) (wire.Fault, error) {
	switch f.Status {
	case 0:
		f.Status = http.StatusForbidden
	case http.StatusUnauthorized, http.StatusForbidden:
	default:
		return f, input.Invalid("status", "must be 401 or 403")
	}
	return f, nil
}

func truncatedList(f wire.Fault) (wire.Fault, error) {
	switch {
	case f.Match != "":
		return f, input.Invalid("match", "truncatedList has no match; use emptyList to leave out single resources")
	case !within(f.Fraction, 0, 1):
		return f, input.Invalid("fraction", "must be between 0 and 1")
	case f.Fraction == 0:
		f.Fraction = 0.5
	}
	return f, nil
}

func aged(f wire.Fault) (wire.Fault, error) {
	switch {
	case f.Age < 0:
		return f, input.Invalid("age", "must not be negative")
	case f.Age == 0:
		f.Age = wire.Duration(time.Minute)
	}
	return f, nil
}

// within reports whether lowest <= x <= highest. It is false for NaN.
func within(x, lowest, highest float64) bool { return x >= lowest && x <= highest }
