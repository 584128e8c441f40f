package cloud

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// The bounds of what is read of an instance (promise S9). Rules compare everything that
// is read, and it is written to a Node that every watcher keeps in memory.
const (
	MaxAddresses = 64
	MaxLabels    = 64
	// MaxAddressBytes bounds an address and its type. A name in DNS has no more bytes.
	MaxAddressBytes = 253
)

// boundedAddresses returns the addresses that are read, in the provider's order, and
// reports whether there are more. If there are too many, the types take turns, because
// some providers name all internal addresses before the only external one.
func boundedAddresses(theirs []corev1.NodeAddress) (read []corev1.NodeAddress, more bool) {
	read = slices.DeleteFunc(slices.Clone(theirs), func(a corev1.NodeAddress) bool {
		return max(len(a.Type), len(a.Address)) > MaxAddressBytes
	})
	if len(read) > MaxAddresses {
		read = inTurns(read)
	}
	return read, len(read) < len(theirs)
}

// inTurns returns MaxAddresses of the addresses: first the first one of each type, then
// the second one of each type, and so on.
func inTurns(addresses []corev1.NodeAddress) []corev1.NodeAddress {
	type place struct{ turn, index int }
	places := make([]place, len(addresses))
	turns := map[corev1.NodeAddressType]int{}
	for n, address := range addresses {
		places[n] = place{turns[address.Type], n}
		turns[address.Type]++
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.turn, b.turn) })
	places = places[:MaxAddresses]
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.index, b.index) })
	read := make([]corev1.NodeAddress, len(places))
	for n, p := range places {
		read[n] = addresses[p.index]
	}
	return read
}

// boundedLabels returns the labels that are read, and reports whether there are more.
// If there are too many, the order of the keys decides, so that each answer has the
// same labels.
func boundedLabels(theirs map[string]string) (read map[string]string, more bool) {
	if len(theirs) <= MaxLabels {
		return maps.Clone(theirs), false
	}
	read = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(theirs))[:MaxLabels] {
		read[key] = theirs[key]
	}
	return read, true
}
