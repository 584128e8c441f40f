package faults

import (
	"slices"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// Description describes one kind of fault to somebody who wants to set it.
type Description struct {
	Kind   wire.FaultKind `json:"kind"`
	Effect string         `json:"effect"`
	// Calls are the calls that the fault can hit.
	Calls []wire.Call `json:"calls"`
	// Settings are the fields of a Fault that belong to the kind.
	Settings []string `json:"settings"`
}

// Describe describes all kinds of faults.
func Describe() []Description {
	var all []Description
	for _, k := range wire.FaultKinds() {
		all = append(all, describe(k))
	}
	return all
}

func describe(k wire.FaultKind) Description {
	d := Description{Kind: k, Effect: effect(k), Calls: []wire.Call{}, Settings: []string{}}
	for _, call := range wire.CallNames() {
		if hits(k, call) {
			d.Calls = append(d.Calls, call)
		}
	}
	for _, s := range settings(wire.Fault{}) {
		if slices.Contains(s.kinds, k) {
			d.Settings = append(d.Settings, s.name)
		}
	}
	return d
}

// effect describes in a few words what a fault of this kind does.
func effect(k wire.FaultKind) string {
	switch k {
	case wire.FaultLatency:
		return "answers take longer"
	case wire.FaultHang:
		return "no answer, until the caller gives up"
	case wire.FaultReset:
		return "the connection is reset, nothing is done"
	case wire.FaultThrottle:
		return "429 above a rate, with Retry-After"
	case wire.FaultOutage:
		return "503"
	case wire.FaultDenied:
		return "403 or 401"
	case wire.FaultError:
		return "500"
	case wire.FaultNotFound:
		return "404, whatever was asked for"
	case wire.FaultStale:
		return "reads return an old state"
	case wire.FaultInvisible:
		return "new resources are not seen yet"
	case wire.FaultEmptyList:
		return "lists are empty, and watches name no change"
	case wire.FaultTruncatedList:
		return "lists lack their last items"
	case wire.FaultDoubledList:
		return "lists have each item twice, the last one first"
	case wire.FaultLostReply:
		return "the call is carried out, but the answer is lost"
	}
	return ""
}
