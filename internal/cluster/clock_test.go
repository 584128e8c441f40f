package cluster

import (
	"net/http"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// TestClock compares the local clock with the Date of the API server. A Date has
// no fraction of a second.
func TestClock(t *testing.T) {
	for name, row := range map[string]struct {
		before, after time.Duration // by the local clock, counted from the Date
		want          time.Duration
	}{
		"Same":             {0, 100 * time.Millisecond, 0},
		"LaterInTheSecond": {900 * time.Millisecond, 990 * time.Millisecond, 0},
		"SlowAnswer":       {-3 * time.Second, 4 * time.Second, 0},
		"Ahead":            {10 * time.Second, 11 * time.Second, 9 * time.Second},
		"Behind":           {-10 * time.Second, -9 * time.Second, -9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Clock{Now: func() time.Time { return noon }}
			c.note("no date", noon, noon)
			c.note(noon.Format(http.TimeFormat), noon.Add(row.before), noon.Add(row.after))
			c.note(noon.Add(time.Hour).Format(http.TimeFormat), noon, noon) // only the first Date counts
			if now, offset := c.Server(); offset != row.want || !now.Equal(noon.Add(-row.want)) {
				t.Errorf("%v, offset %v, want %v", now, offset, row.want)
			}
		})
	}
}
