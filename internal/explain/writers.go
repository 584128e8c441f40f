package explain

import (
	"encoding/json"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
)

// field is a field of an object, with its path in metadata.managedFields. An answer names
// the writers of the field.
type field struct {
	name string
	path []string
}

var fieldsOfNode = []field{
	{"spec.providerID", []string{"f:spec", "f:providerID"}},
	{"spec.taints", []string{"f:spec", "f:taints"}},
	{"spec.podCIDR", []string{"f:spec", "f:podCIDR"}},
	{"status.addresses", []string{"f:status", "f:addresses"}},
	{"label " + corev1.LabelTopologyZone, []string{"f:metadata", "f:labels", "f:" + corev1.LabelTopologyZone}},
	condition(string(mark.NodeInitialized)),
	condition(string(mark.InstanceMissing)),
	condition(string(corev1.NodeNetworkUnavailable)),
}

var fieldsOfRoute = []field{
	{"spec.podCIDR", []string{"f:spec", "f:podCIDR"}},
	condition(string(corev1.NodeNetworkUnavailable)),
}

var fieldsOfService = []field{
	{"spec.type", []string{"f:spec", "f:type"}},
	{"spec.loadBalancerClass", []string{"f:spec", "f:loadBalancerClass"}},
	{"finalizer " + mark.ServiceFinalizer, []string{"f:metadata", "f:finalizers", `v:"` + mark.ServiceFinalizer + `"`}},
	{"status.loadBalancer", []string{"f:status", "f:loadBalancer"}},
	condition(mark.ServiceServing),
	condition(mark.ServiceProvisioning),
	condition(mark.ServiceCleanupHeld),
}

var fieldsOfVolume = []field{
	{"label " + corev1.LabelTopologyZone, []string{"f:metadata", "f:labels", "f:" + corev1.LabelTopologyZone}},
	{"label " + corev1.LabelTopologyRegion, []string{"f:metadata", "f:labels", "f:" + corev1.LabelTopologyRegion}},
	{"spec.nodeAffinity", []string{"f:spec", "f:nodeAffinity"}},
}

var fieldsOfRequest = []field{
	condition(string(certificatesv1.CertificateApproved)),
	condition(string(certificatesv1.CertificateDenied)),
	{"status.certificate", []string{"f:status", "f:certificate"}},
}

func condition(kind string) field {
	return field{"condition " + kind, []string{"f:status", "f:conditions", `k:{"type":"` + kind + `"}`}}
}

// writers returns the writers of the fields, in the order of the fields.
func writers(managed []metav1.ManagedFieldsEntry, fields []field) []Writer {
	trees := make([]map[string]any, len(managed))
	for i, m := range managed {
		if m.FieldsV1 != nil {
			_ = json.Unmarshal(m.FieldsV1.GetRawBytes(), &trees[i]) // An entry that cannot be parsed names no field.
		}
	}
	var all []Writer
	for _, f := range fields {
		for i, m := range managed {
			if has(trees[i], f.path) {
				all = append(all, Writer{Field: f.name, Manager: m.Manager, Time: timeOf(m.Time)})
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
