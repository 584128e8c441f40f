package explain

import (
	"encoding/json"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
)

// The fields of objects whose writers an answer names.
var (
	fieldsOfNode = []string{
		"spec.providerID", "spec.taints", "spec.podCIDR", "status.addresses", "label " + corev1.LabelTopologyZone,
		"condition " + string(mark.NodeInitialized), "condition " + string(mark.InstanceMissing), "condition " + string(corev1.NodeNetworkUnavailable),
	}
	fieldsOfRoute   = []string{"spec.podCIDR", "condition " + string(corev1.NodeNetworkUnavailable)}
	fieldsOfService = []string{
		"spec.type", "spec.loadBalancerClass", "finalizer " + mark.ServiceFinalizer, "status.loadBalancer",
		"condition " + mark.ServiceServing, "condition " + mark.ServiceProvisioning, "condition " + mark.ServiceCleanupHeld,
	}
	fieldsOfVolume  = []string{"label " + corev1.LabelTopologyZone, "label " + corev1.LabelTopologyRegion, "spec.nodeAffinity"}
	fieldsOfRequest = []string{"condition " + string(certificatesv1.CertificateApproved), "condition " + string(certificatesv1.CertificateDenied), "status.certificate"}
)

// pathOf returns the path of a field in metadata.managedFields.
func pathOf(field string) []string {
	switch word, name, _ := strings.Cut(field, " "); word {
	case "label":
		return []string{"f:metadata", "f:labels", "f:" + name}
	case "finalizer":
		return []string{"f:metadata", "f:finalizers", `v:"` + name + `"`}
	case "condition":
		return []string{"f:status", "f:conditions", `k:{"type":"` + name + `"}`}
	default:
		part, name, _ := strings.Cut(field, ".")
		return []string{"f:" + part, "f:" + name}
	}
}

// writers returns the writers of the fields, in the order of the fields.
func writers(managed []metav1.ManagedFieldsEntry, fields []string) []Writer {
	trees := make([]map[string]any, len(managed))
	for i, m := range managed {
		if m.FieldsV1 != nil {
			_ = json.Unmarshal(m.FieldsV1.GetRawBytes(), &trees[i]) // An entry that cannot be parsed names no field.
		}
	}
	var all []Writer
	for _, f := range fields {
		for i, m := range managed {
			if has(trees[i], pathOf(f)) {
				all = append(all, Writer{Field: f, Manager: m.Manager, Time: timeOf(m.Time)})
			}
		}
	}
	return all
}

func has(tree map[string]any, path []string) bool {
	for _, part := range path[:len(path)-1] {
		tree, _ = tree[part].(map[string]any)
	}
	_, ok := tree[path[len(path)-1]]
	return ok
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
