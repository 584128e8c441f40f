package quota

import (
	"slices"
	"strings"

	"github.com/fairlead-k8s/fairlead/simulator/internal/faults"
	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

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

func isList(call wire.Call) bool { return strings.HasPrefix(string(call), "List") }

func isGet(call wire.Call) bool {
	return strings.HasPrefix(string(call), "Get") || strings.HasPrefix(string(call), "Watch")
}

// groups returns the names of sets of calls.
func groups() map[string]func(wire.Call) bool {
	return map[string]func(wire.Call) bool{
		"all":     func(wire.Call) bool { return true },
		"reads":   func(c wire.Call) bool { return isList(c) || isGet(c) },
		"lists":   isList,
		"gets":    isGet,
		"changes": func(c wire.Call) bool { return !isList(c) && !isGet(c) },
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
	return faults.Check(b.fault())
}
