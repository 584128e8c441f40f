package certificate

import (
	"testing"

	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// TestCutRequestIsRefused checks that the informer cuts only requests that are refused
// because of their size.
func TestCutRequestIsRefused(t *testing.T) {
	if kube.MaxRequestBytes != maxBytes {
		t.Errorf("%d bytes are kept, %d are allowed", kube.MaxRequestBytes, maxBytes)
	}
}
