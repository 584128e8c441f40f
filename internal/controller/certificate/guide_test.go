package certificate

import (
	"testing"

	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// TestDroppedRequestIsRefused checks that the informer drops only requests that are
// refused because of their size.
func TestDroppedRequestIsRefused(t *testing.T) {
	if kube.MaxRequestBytes != maxBytes {
		t.Errorf("%d bytes are kept, %d are allowed", kube.MaxRequestBytes, maxBytes)
	}
}
