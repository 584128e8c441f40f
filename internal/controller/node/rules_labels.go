package node

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// AnnotationLabels is the annotation that records which additional labels were set
	// from the cloud. Its value is a JSON object of keys and values. A label belongs to
	// the user if it is not in the record, or if the record has another value for it.
	AnnotationLabels = "fairlead.dev/cloud-labels"
)

// LabelPolicy says which labels are kept up to date after initialisation. The
// zero value means none, as with upstream.
type LabelPolicy struct {
	// Type means that the labels of the instance type are kept up to date.
	Type bool
	// Additional means that the provider's own labels are kept up to date: the labels
	// other than type, zone and region.
	Additional bool
	// Remove means that an additional label is removed once several answers in a row
	// (removeAfter) have left it out. Only labels that were set from the cloud are
	// removed. Without Remove, no label is removed.
	Remove bool
	// Overwrite means that the provider's value of an additional label counts for more
	// than one that somebody else has set after the initialisation.
	Overwrite bool
}

// removeAfter is the number of answers in a row without a label after which the label
// is removed. A single answer without the label often means only that something has
// failed inside the provider.
const removeAfter = 3

// twins has the old and the new key of each label that Kubernetes has renamed. Upstream
// copies the value of the old key to the new one (upstream-behaviour 3.5).
var twins = [][2]string{
	{corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone},
	{corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion},
	{corev1.LabelInstanceType, corev1.LabelInstanceTypeStable},
}

// twinLabels returns the labels to write so that each new key has the value of
// its old key.
func twinLabels(have map[string]string) map[string]*string {
	want := map[string]string{}
	for _, twin := range twins {
		if value, ok := have[twin[0]]; ok {
			want[twin[1]] = value
		}
	}
	return differing(have, want)
}

// sizeLabels returns the labels of the instance type. There are none if the cloud does
// not name the type.
func sizeLabels(i instance) map[string]string {
	return both(i.size, corev1.LabelInstanceType, corev1.LabelInstanceTypeStable)
}

// placeLabels returns the labels of zone and region.
func placeLabels(i instance) map[string]string {
	labels := both(i.zone, corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone)
	maps.Copy(labels, both(i.region, corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion))
	return labels
}

func both(value, oldKey, newKey string) map[string]string {
	if value == "" {
		return map[string]string{}
	}
	return map[string]string{oldKey: value, newKey: value}
}

// differing returns the labels to write: the wanted labels that are missing or have
// another value.
func differing(have, want map[string]string) map[string]*string {
	set := map[string]*string{}
	for key, value := range want {
		if current, ok := have[key]; !ok || current != value {
			set[key] = &value
		}
	}
	return set
}

// reserved matches the label keys that only Kubernetes itself should set. If a provider
// offers a label with a reserved key, this package ignores the label without an error,
// as upstream does.
var reserved = regexp.MustCompile(`(^|\.)(kubernetes|k8s)\.io/`)

// additionalLabels returns the provider's own labels that are to be set, and the new
// record. Without policy.Additional, it follows upstream's rule: a label that is
// already on the Node belongs to the user. In that case, the caller must not write the
// record. A label that is not offered stays as it is, because providers leave out
// labels for many reasons.
func additionalLabels(node *corev1.Node, offered map[string]string, policy LabelPolicy) (labels map[string]*string, record map[string]string) {
	labels, record = map[string]*string{}, map[string]string{}
	if policy.Additional {
		record = followed(node)
	}
	for key, value := range offered {
		current, exists := node.Labels[key]
		_, mine := record[key]
		switch {
		case reserved.MatchString(key), isInvalidLabel(key, value):
			// The label stays in the record, so that it is updated once the cloud's
			// value is valid.
		case !exists, (mine || policy.Overwrite) && current != value:
			labels[key] = &value
			record[key] = value
		case current == value:
			record[key] = value // From now on the label is kept up to date.
		}
	}
	return labels, record
}

// missingLabels counts, for each label that was set from the cloud, the answers in a
// row that have left the label out. An answer without a map of labels does not count,
// and neither does an answer with more labels than are read: the cloud might have named
// the label.
func missingLabels(o observed) map[string]int {
	offered := o.answer.instance.labels
	if !o.policy.Remove || offered == nil || o.answer.instance.moreLabels {
		return o.memory.missing
	}
	missing := map[string]int{}
	for key := range followed(o.node) {
		if _, still := offered[key]; !still {
			missing[key] = o.memory.missing[key] + 1
		}
	}
	return missing
}

// followed returns the labels of the Node that were set from the cloud and that
// nobody has changed since.
func followed(node *corev1.Node) map[string]string {
	labels := recorded(node)
	maps.DeleteFunc(labels, func(key, value string) bool {
		current, exists := node.Labels[key]
		return !exists || current != value
	})
	return labels
}

// recorded returns the record of a Node. It is empty if the annotation cannot be
// parsed. A kubelet may write the annotation, but it may not set every label with a
// reserved key. So entries with such keys are ignored.
func recorded(node *corev1.Node) map[string]string {
	record := map[string]string{}
	if json.Unmarshal([]byte(node.Annotations[AnnotationLabels]), &record) != nil || record == nil {
		return map[string]string{}
	}
	maps.DeleteFunc(record, func(key, value string) bool {
		return reserved.MatchString(key) || isInvalidLabel(key, value)
	})
	return record
}

// recordOf returns the annotation to write, or nil if the Node has it already.
func recordOf(labels map[string]string, node *corev1.Node) map[string]*string {
	current, exists := node.Annotations[AnnotationLabels]
	if len(labels) == 0 {
		if exists {
			return map[string]*string{AnnotationLabels: nil}
		}
		return nil
	}
	data, err := json.Marshal(labels)
	if text := string(data); err == nil && text != current {
		return map[string]*string{AnnotationLabels: &text}
	}
	return nil
}

// invalidLabels names the labels of an instance that the API server would
// reject.
func invalidLabels(i instance) []string {
	var problems []string
	for key, labels := range map[string]map[string]string{"type": sizeLabels(i), "zone and region": placeLabels(i)} {
		for _, value := range slices.Sorted(maps.Values(labels)) {
			if isInvalidLabel("name", value) {
				problems = append(problems, fmt.Sprintf("%s %q", key, value))
			}
		}
	}
	for key, value := range i.labels {
		if !reserved.MatchString(key) && isInvalidLabel(key, value) {
			problems = append(problems, fmt.Sprintf("label %q with value %q", key, value))
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}

func isInvalidLabel(key, value string) bool {
	return len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0
}
