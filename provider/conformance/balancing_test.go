package conformance

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A world may name the backends of a load balancer by its own machine IDs, or by
// provider IDs.
func TestBackendsAreKnownByTheIDsOfTheWorld(t *testing.T) {
	b := balancing{known: map[string]string{"i-1": "acme://r/i-1"}}
	if d := cmp.Diff([]string{"acme://r/i-1", "acme://r/i-2"}, b.byProviderID([]string{"i-1", "acme://r/i-2"})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
