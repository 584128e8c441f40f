package ccm

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestCollectEarly(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })

	t.Run("GOGCOfTheEnvironmentStays", func(t *testing.T) {
		t.Setenv("GOGC", "100")
		collectEarly()
		if got := debug.SetGCPercent(100); got != 100 {
			t.Errorf("GOGC is %d, want 100", got)
		}
	})
	t.Run("HeapGrowsByHalf", func(t *testing.T) {
		t.Setenv("GOGC", "") // After the test, this restores the environment's value.
		if err := os.Unsetenv("GOGC"); err != nil {
			t.Fatal(err)
		}
		collectEarly()
		if got := debug.SetGCPercent(100); got != 50 {
			t.Errorf("GOGC is %d, want 50", got)
		}
	})
}
