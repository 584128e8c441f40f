// Package volumefact answers questions about a PersistentVolume, from the volume alone.
package volumefact

import corev1 "k8s.io/api/core/v1"

// TopologyKey is the key of a label, with its former name.
type TopologyKey struct{ Key, Former string }

// TopologyKeys returns the keys of the labels for region and zone.
func TopologyKeys() []TopologyKey {
	return []TopologyKey{
		{corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion},
		{corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone},
	}
}

// exclusions are the volumes that the cloud is not asked about.
var exclusions = []struct {
	why   string
	holds func(*corev1.PersistentVolume) bool
}{
	{"the volume is being deleted", func(v *corev1.PersistentVolume) bool { return v.DeletionTimestamp != nil }},
	{"the volume has a label of its zone or region", HasTopology},
}

// LeftAlone returns the reason for which the cloud is not asked about the volume, or
// an empty string if it is asked.
func LeftAlone(v *corev1.PersistentVolume) (why string) {
	for _, e := range exclusions {
		if e.holds(v) {
			return e.why
		}
	}
	return ""
}

// HasTopology reports whether the volume has one of the labels, with any value.
// Somebody who has set the zone or the region has decided about both.
func HasTopology(v *corev1.PersistentVolume) bool {
	for _, k := range TopologyKeys() {
		for _, key := range []string{k.Key, k.Former} {
			if _, has := v.Labels[key]; has {
				return true
			}
		}
	}
	return false
}
