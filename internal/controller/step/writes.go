package step

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// Events returns descriptions of the writes that record the events.
func Events(events []message.Event) []string {
	var writes []string
	for _, e := range events {
		writes = append(writes, "event "+e.Type+" "+e.Reason)
	}
	return writes
}

// Condition returns the description of a write of a condition, on an object of any
// kind.
func Condition[T, S ~string](kind T, status S, reason string) string {
	return fmt.Sprintf("condition %s=%s (%s)", kind, status, reason)
}

// NoCondition returns the description of a write that removes a condition.
func NoCondition[T ~string](kind T) string { return fmt.Sprintf("condition %s removed", kind) }

// Entries describes the writes that change labels or annotations. The parameter what is
// "label" or "annotation". The map now has the present entries, and the map change has
// the new values. A nil value removes the entry.
func Entries(what string, now map[string]string, change map[string]*string) []string {
	var writes []string
	for _, key := range slices.Sorted(maps.Keys(change)) {
		before, has := now[key]
		switch after := change[key]; {
		case after == nil:
			writes = append(writes, fmt.Sprintf("%s %s removed", what, key))
		case has:
			writes = append(writes, fmt.Sprintf("%s %s: %q -> %q", what, key, before, *after))
		default:
			writes = append(writes, fmt.Sprintf("%s %s: %q", what, key, *after))
		}
	}
	return writes
}

// Taints describes the writes that change a Node's taints. If the parameter after is
// nil, nothing changes.
func Taints(before []corev1.Taint, after *[]corev1.Taint) []string {
	if after == nil {
		return nil
	}
	var writes []string
	for _, t := range before {
		if !slices.Contains(*after, t) {
			writes = append(writes, "taint "+t.ToString()+" removed")
		}
	}
	for _, t := range *after {
		if !slices.Contains(before, t) {
			writes = append(writes, "taint "+t.ToString()+" added")
		}
	}
	return writes
}

// Addresses describes the writes that change a Node's addresses. If the parameter after
// is nil, nothing changes.
func Addresses(before, after []corev1.NodeAddress) []string {
	if after == nil {
		return nil
	}
	if len(before) == 0 {
		return []string{"addresses: " + list(after)}
	}
	return []string{"addresses: " + list(before) + " -> " + list(after)}
}

func list(addresses []corev1.NodeAddress) string {
	var all []string
	for _, a := range addresses {
		all = append(all, string(a.Type)+" "+a.Address)
	}
	return strings.Join(all, ", ")
}
