package e2e

import (
	"testing"

	"github.com/fairlead-k8s/fairlead/test/internal/bed"
)

// onShared returns the shared bed. No other test uses the bed while this test runs.
func onShared(t *testing.T) *bed.Bed {
	t.Helper()
	skipWithoutPrograms(t)
	shared.Check(t)
	return shared
}

// onOwn brings up a bed for a test that mostly waits. The test runs in parallel with
// other tests of that kind. args are additional arguments for the playground.
func onOwn(t *testing.T, args ...string) *bed.Bed {
	t.Helper()
	skipWithoutPrograms(t)
	t.Parallel()
	return ownBed(t, args...)
}

func ownBed(t *testing.T, args ...string) *bed.Bed {
	t.Helper()
	b := unchecked(t, args...)
	b.Check(t)
	return b
}

// unchecked returns a bed whose daemons may make requests for which they have no right.
func unchecked(t *testing.T, args ...string) *bed.Bed {
	t.Helper()
	b, err := bed.New(t.Context(), shared.Config, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func skipWithoutPrograms(t *testing.T) {
	t.Helper()
	if shared == nil {
		t.Skip("needs a control plane; run it with: make e2e")
	}
}
