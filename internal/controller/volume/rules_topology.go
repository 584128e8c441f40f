package volume

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/volumefact"
)

// zoneDelimiter separates the zones of a volume that is in several zones, as in
// zone-a__zone-b. The scheduler reads such a label as the list of the zones.
const zoneDelimiter = "__"

// topology is the place of a volume: its region, its zones, or both.
type topology []place

// place is one label of a volume: its key, and its value in the field label. The field
// values has the values that the same label has on the nodes where the volume can be
// used.
type place struct {
	key, label string
	values     []string // sorted
}

// topologyOf reads the labels that a provider has returned. It replaces former names of
// labels by the present names. It ignores other labels, because nodes need not have
// them. It also ignores empty values, because a volume with an empty label fits no
// node. If the answer cannot be used, the second result says why. Otherwise, that
// result is empty.
func topologyOf(answer map[string]string) (t topology, wrong string) {
	for _, k := range volumefact.TopologyKeys() {
		now, former := answer[k.Key], answer[k.Former]
		if now != "" && former != "" && now != former {
			return nil, fmt.Sprintf("%s is %q and %s is %q", k.Key, message.Value(now), k.Former, message.Value(former))
		}
		if now == "" {
			now = former
		}
		if now == "" {
			continue
		}
		p := place{key: k.Key, label: now, values: []string{now}}
		if k.Key == corev1.LabelTopologyZone {
			p.values = strings.Split(now, zoneDelimiter)
		}
		if wrong := p.wrong(); wrong != "" {
			return nil, wrong
		}
		slices.Sort(p.values)
		p.values = slices.Compact(p.values)
		t = append(t, p)
	}
	if len(t) == 0 {
		return nil, "it names neither a zone nor a region"
	}
	return t, ""
}

// wrong says why the API server would refuse the label, or why no node would match it.
// It returns an empty string if nothing is wrong.
func (p place) wrong() string {
	for _, value := range append([]string{p.label}, p.values...) {
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			return fmt.Sprintf("%s is %q, which is not a valid label value", p.key, message.Value(p.label))
		}
		if value == "" {
			return fmt.Sprintf("%s is %q, and one of its zones is empty", p.key, message.Value(p.label))
		}
	}
	return ""
}

// labels returns the labels of a volume in this topology.
func (t topology) labels() map[string]string {
	all := map[string]string{}
	for _, p := range t {
		all[p.key] = p.label
	}
	return all
}

// affinity returns the node affinity of a volume in this topology.
func (t topology) affinity() *corev1.VolumeNodeAffinity {
	var term corev1.NodeSelectorTerm
	for _, p := range t {
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: p.key, Operator: corev1.NodeSelectorOpIn, Values: p.values})
	}
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}}
}

// String returns the topology for a message.
func (t topology) String() string {
	var all []string
	for _, p := range t {
		all = append(all, p.key+"="+p.label)
	}
	return strings.Join(all, ", ")
}

// agrees reports whether the node affinity allows a node in this topology. If it allows
// none, the labels of the topology would keep all pods of the volume from being
// scheduled.
func agrees(affinity *corev1.VolumeNodeAffinity, t topology) bool {
	if affinity == nil || affinity.Required == nil {
		return true
	}
	return slices.ContainsFunc(affinity.Required.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(t, func(p place) bool { return !p.fits(term) })
	})
}

// fits reports whether one of the label's values satisfies what the term requires of
// the label.
func (p place) fits(term corev1.NodeSelectorTerm) bool {
	return slices.ContainsFunc(p.values, func(value string) bool {
		return !slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return isAbout(r, p.key) && !satisfies(r, value)
		})
	})
}

// isAbout reports whether the requirement is about the label, under its present or
// its former name.
func isAbout(r corev1.NodeSelectorRequirement, key string) bool {
	for _, k := range volumefact.TopologyKeys() {
		if k.Key == key {
			return r.Key == k.Key || r.Key == k.Former
		}
	}
	return false
}

// satisfies reports whether a node with this value satisfies the requirement. It
// returns false for Gt and Lt, because zones and regions are not numbers.
func satisfies(r corev1.NodeSelectorRequirement, value string) bool {
	switch r.Operator { //nolint:exhaustive // all others are not satisfied
	case corev1.NodeSelectorOpIn:
		return slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpNotIn:
		return !slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpExists:
		return true
	default:
		return false
	}
}
