package kube

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// These are constants of the service controller. Tests of that controller fail if they
// differ.
const (
	loadBalancerFinalizer = "service.kubernetes.io/load-balancer-cleanup"
	annotationClass       = "fairlead.dev/load-balancer-class"
	annotationBackends    = "fairlead.dev/load-balancer-backends"
)

// These are two fields of a Service. The informer keeps their managers, because the
// service controller names them in events.
const (
	fieldFinalizers   = "f:finalizers"
	fieldLoadBalancer = "f:loadBalancer"
)

// Everybody with the right to create Services decides how large they are. These limits
// bound what one Service takes in memory.
const (
	// maxWhole is the size up to which a Service is kept whole, in bytes.
	maxWhole = 16 << 10
	// maxAnnotations is the size of all annotations of a larger Service that are kept.
	maxAnnotations = 6 << 10
	// maxPorts is the number of ports of a larger Service that are kept.
	maxPorts = 16
	// maxManagers is the number of field managers that are kept.
	maxManagers = 4
	// maxClass is the length of the longest class that the API server accepts.
	maxClass = 253 + len("/") + 63
)

// OperationDigest marks a Service that is too large to be kept whole. The Service has a
// managed field with this operation, whose manager is a digest of the annotations and
// the spec. No Service in the API server has such a managed field, because the API
// server accepts no other operations than Apply and Update.
const OperationDigest metav1.ManagedFieldsOperationType = "Digest"

// Served reports whether the service controller provides the load balancer of a Service.
// It reads only the type, class, finalizers and annotations.
type Served func(service *corev1.Service) bool

// TrimService returns the Service in the form in which the informer keeps it. A Service
// that is not served is kept without labels, ports, and annotations and finalizers of
// others. A Service that is served loses only managed fields that no rule reads. But if
// it is large, it also loses what does not fit. The result then has OperationDigest, so
// that each change of the annotations or the spec can still be noticed. The provider
// must not get a Service that lacks fields. Services.Live reads it whole.
//
// The annotation last-applied-configuration is not treated in another way than other
// annotations, because a provider that writes the Service back would otherwise delete it.
func TrimService(whole *corev1.Service, served Served) *corev1.Service {
	switch {
	case served == nil || !served(whole):
		return unserved(whole)
	case digestOf(whole) != nil:
		return whole
	}
	service := *whole
	service.ManagedFields = ownersOf(whole, fieldFinalizers, fieldLoadBalancer)
	if service.Size() <= maxWhole {
		return &service
	}
	return reduced(&service)
}

// unserved returns what rules read of a Service that is not served.
func unserved(whole *corev1.Service) *corev1.Service {
	trimmed := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: whole.Namespace, Name: whole.Name, UID: whole.UID, ResourceVersion: whole.ResourceVersion,
			DeletionTimestamp: whole.DeletionTimestamp,
		},
		Spec:   corev1.ServiceSpec{Type: whole.Spec.Type, LoadBalancerClass: whole.Spec.LoadBalancerClass},
		Status: whole.Status, // The right to create Services is not enough to make the status large. That needs the right to write the status.
	}
	isHeld := slices.Contains(whole.Finalizers, loadBalancerFinalizer)
	if isHeld {
		trimmed.Finalizers = []string{loadBalancerFinalizer}
	}
	if isHeld && whole.DeletionTimestamp != nil {
		trimmed.ManagedFields = ownersOf(whole, fieldFinalizers)
	}
	if class, named := whole.Annotations[annotationClass]; named {
		trimmed.Annotations = map[string]string{annotationClass: cutClass(class)}
	}
	if whole.Namespace == metav1.NamespaceDefault && whole.Name == "kubernetes" {
		trimmed.Spec.ClusterIPs = whole.Spec.ClusterIPs // A rule reads these IPs, because no kubelet may get a certificate for the API server's addresses.
	}
	return trimmed
}

// cutClass cuts a value that is too long to be a class. No class ends with the sign that
// marks the cut, so the result is no class either.
func cutClass(class string) string {
	if len(class) <= maxClass {
		return class
	}
	return class[:maxClass] + "…"
}

// reduced returns a large Service with the fields from which most providers find its
// load balancer. The provider gets the result only if the Service no longer exists, and
// so cannot be read any more.
func reduced(whole *corev1.Service) *corev1.Service {
	service := unserved(whole)
	service.Annotations = shortest(whole.Annotations)
	service.ManagedFields = append(slices.Clone(whole.ManagedFields), metav1.ManagedFieldsEntry{Manager: digest(whole), Operation: OperationDigest})
	service.Spec = whole.Spec
	service.Spec.Ports = slices.Clone(whole.Spec.Ports[:min(len(whole.Spec.Ports), maxPorts)]) // A part of the list would keep the whole list in memory.
	service.Spec.Selector, service.Spec.ExternalName, service.Spec.ExternalIPs = nil, "", nil
	service.Spec.LoadBalancerIP, service.Spec.LoadBalancerSourceRanges = "", nil
	return service
}

// shortest returns the shortest annotations, up to maxAnnotations. A provider's
// annotations are short. The daemon's own annotations are always among them.
func shortest(all map[string]string) map[string]string {
	size := func(key string) int { return len(key) + len(all[key]) }
	keys := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(size(a)-size(b), cmp.Compare(a, b)) })
	kept, left := map[string]string{}, maxAnnotations
	for _, own := range []string{annotationClass, annotationBackends} {
		if value, named := all[own]; named {
			kept[own] = cutClass(value)
		}
	}
	for _, key := range keys {
		if left -= size(key); left < 0 {
			break
		}
		if _, own := kept[key]; !own {
			kept[key] = all[key]
		}
	}
	return kept
}

// digest returns a digest of all from which a provider may build the load balancer.
func digest(service *corev1.Service) string {
	annotations := maps.Clone(service.Annotations)
	delete(annotations, annotationClass)
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode([]any{annotations, service.Spec}) // Plain data always encodes, and a hash accepts all data.
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func digestOf(service *corev1.Service) *metav1.ManagedFieldsEntry {
	for i := range service.ManagedFields {
		if e := &service.ManagedFields[i]; e.Operation == OperationDigest {
			return e
		}
	}
	return nil
}

// ownersOf returns the first managers of these fields of a Service, and drops all other
// fields.
func ownersOf(service *corev1.Service, of ...string) (owners []metav1.ManagedFieldsEntry) {
	for _, entry := range service.ManagedFields {
		if entry.FieldsV1 == nil {
			continue
		}
		read := object{}
		for _, field := range of {
			if bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"`+field+`"`)) {
				read[field] = object{}
			}
		}
		if len(read) == 0 {
			continue
		}
		data, _ := json.Marshal(read) // A map of strings always encodes.
		var fields metav1.FieldsV1
		fields.SetRawBytes(data)
		owners = append(owners, metav1.ManagedFieldsEntry{Manager: entry.Manager, FieldsV1: &fields})
		if len(owners) == maxManagers {
			break
		}
	}
	return owners
}
