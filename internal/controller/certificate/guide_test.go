package certificate

import (
	"os"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// TestGuideHasTheReasons compares the guide with Reasons.
func TestGuideHasTheReasons(t *testing.T) {
	const guide = "../../../docs/guides/serving-certificates.md"
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Reasons() {
		if !strings.Contains(string(text), "`"+r.Name+"`") {
			t.Errorf("%s does not name the reason %s", guide, r.Name)
		}
	}
}

// TestDroppedRequestIsRefused checks that the informer drops only requests that are
// refused because of their size.
func TestDroppedRequestIsRefused(t *testing.T) {
	if kube.MaxRequestBytes != maxBytes {
		t.Errorf("%d bytes are kept, %d are allowed", kube.MaxRequestBytes, maxBytes)
	}
}
