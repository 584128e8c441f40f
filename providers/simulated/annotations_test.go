package simulated

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzAnnotations checks that an annotation is either parsed completely or
// refused, and that an accepted one never leaves the source ranges empty.
func FuzzAnnotations(f *testing.F) {
	for _, seed := range []struct{ key, value string }{
		{string(AnnotationDrain), "30s"},
		{string(AnnotationDrain), "-1s"},
		{string(AnnotationDrain), ""},
		{string(AnnotationSourceRanges), "10.0.0.0/8, 192.0.2.1/24"},
		{string(AnnotationSourceRanges), "10.0.0.0/8,"},
		{string(AnnotationSourceRanges), ""},
		{string(AnnotationStaticIP), "web"},
		{AnnotationPrefix + "static-ips", "web"},
		{AnnotationPrefix, ""},
		{"other.example/drain", "x"},
	} {
		f.Add(seed.key, seed.value)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{key: value}}}
		_, isKnown := map[Annotation]bool{AnnotationDrain: true, AnnotationStaticIP: true, AnnotationSourceRanges: true}[Annotation(key)]
		isOwn := len(key) >= len(AnnotationPrefix) && key[:len(AnnotationPrefix)] == AnnotationPrefix
		if refused := checkAnnotations(service) != nil; refused != (isOwn && !isKnown) {
			t.Errorf("%q: refused is %v", key, refused)
		}
		if drain, err := drainOf(service); err == nil && drain != nil && *drain < 0 || err != nil && drain != nil {
			t.Errorf("%q: drains for %s, %v", value, *drain, err)
		}
		ranges, err := sourceRanges(service)
		if err == nil && len(ranges) == 0 {
			t.Errorf("%q: no source range, and no error", value)
		}
		for _, r := range ranges {
			if prefix, err := netip.ParsePrefix(r); err != nil || prefix.Masked() != prefix {
				t.Errorf("%q: %q is not a range in its usual form", value, r)
			}
		}
	})
}
