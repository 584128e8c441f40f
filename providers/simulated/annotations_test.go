package simulated

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/provider/kit"
)

// FuzzAnnotations checks that an annotation is either parsed completely or
// refused. It also checks that an accepted annotation never leaves the source
// ranges empty.
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
		annotations := kit.NewAnnotations(service.Annotations, AnnotationPrefix)
		if d := drain(annotations); d != nil && *d < 0 {
			t.Errorf("%q: drains for %v", value, *d)
		}
		ranges, err := sourceRanges(service, annotations)
		if err != nil || len(ranges) == 0 {
			t.Errorf("%q: no source range, %v", value, err)
		}
		annotations.Text(string(AnnotationStaticIP))
		err = annotations.Err()
		if isOwn && !isKnown && err == nil || !isOwn && !isKnown && err != nil {
			t.Errorf("%q: %v", key, err)
		}
		for _, r := range ranges {
			if prefix, err := netip.ParsePrefix(r); err != nil || prefix.Masked() != prefix {
				t.Errorf("%q: %q is not a range in its usual form", value, r)
			}
		}
	})
}
