package scenario

import (
	"maps"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// The slowest of the buckets that limit the call counts.
func TestBucketsNeed(t *testing.T) {
	for profile, want := range map[string]time.Duration{
		"azure": 12 * time.Second, "digitalocean": 216 * time.Second, "ec2": 15 * time.Second, "hcloud": 300 * time.Second, "linode": 176 * time.Second,
	} {
		buckets, _ := simulator.QuotaProfile(profile)
		if got := bucketsNeed(buckets, 300); got.Truncate(time.Second) != want {
			t.Errorf("%s: got %v, want %v", profile, got, want)
		}
	}
}

func TestAfterHour(t *testing.T) {
	for name, row := range map[string]struct {
		rate   float64
		tokens int
		use    float64
		want   int
	}{
		"ItGainsWhatIsNotUsed":     {0.1, 10, 0.05, 190},
		"ItHoldsNoMoreThanItsSize": {1, 10, 0, 1000},
		"ItStaysEmpty":             {0.1, 0, 0.1, 0},
		"ItIsUsedUp":               {0.1, 100, 0.2, 0}, // Calls beyond the rate use up what is there.
	} {
		if got := afterHour(simulator.Fault{Rate: row.rate, Burst: 1000, Tokens: &row.tokens}, row.use); got != row.want {
			t.Errorf("%s: got %d, want %d", name, got, row.want)
		}
	}
}

func TestTally(t *testing.T) {
	before := tally{calls: 10, refused: 3, allowed: map[simulator.Call]int{simulator.ListInstances: 7}}
	after := tally{calls: 100, refused: 13, allowed: map[simulator.Call]int{simulator.ListInstances: 27, simulator.GetInstance: 60}}
	got := after.since(before)
	allowed := map[simulator.Call]int{simulator.ListInstances: 20, simulator.GetInstance: 60}
	if got.calls != 90 || got.refused != 10 || !maps.Equal(got.allowed, allowed) {
		t.Errorf("got %+v, want 90 calls, 10 refused, %v", got, allowed)
	}
	for name, row := range map[string]struct {
		calls []simulator.Call
		want  float64
	}{
		"All":  {nil, 8},
		"Some": {[]simulator.Call{simulator.ListInstances, simulator.CreateInstance}, 2},
	} {
		if got := got.rate(simulator.Fault{Calls: row.calls}, 10*time.Second); got != row.want {
			t.Errorf("%s: got %v a second, want %v", name, got, row.want)
		}
	}
}
