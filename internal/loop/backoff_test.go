package loop

import (
	"testing"
	"time"
)

func TestDelay(t *testing.T) {
	b := backoff{min: 500 * time.Millisecond, max: time.Minute}
	for _, tt := range []struct {
		name     string
		failures int
		spread   float64
		want     time.Duration
	}{
		{"FirstFailureWaitsTheLeastDelay", 1, 0, 500 * time.Millisecond},
		{"EachFailureDoubles", 4, 0, 4 * time.Second},
		{"DelayIsBounded", 20, 0, time.Minute},
		{"ManyFailuresDoNotOverflow", 1 << 30, 0, time.Minute},
		{"NoFailureCountsAsOne", 0, 0, 500 * time.Millisecond},
		{"SpreadAddsUpToAQuarter", 1, 0.8, 600 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := b.delay(tt.failures, tt.spread); got != tt.want {
				t.Errorf("delay(%d, %v) = %v, want %v", tt.failures, tt.spread, got, tt.want)
			}
		})
	}
}
