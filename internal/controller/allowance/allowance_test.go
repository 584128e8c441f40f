package allowance

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	noon  = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	limit = Limit{Burst: 3, Every: time.Minute, Least: 5 * time.Second}
)

// times returns the times at which an allowance is used if somebody asks for it each
// second.
func times(until time.Duration) (used []time.Duration) {
	var a Allowance
	for at := time.Duration(0); at <= until; at += time.Second {
		if now := noon.Add(at); !now.Before(a.Next(limit)) {
			a = a.Used(limit, now)
			used = append(used, at)
		}
	}
	return used
}

func TestAllowance(t *testing.T) {
	want := []time.Duration{0, 5 * time.Second, 10 * time.Second, time.Minute, 2 * time.Minute, 3 * time.Minute}
	if diff := cmp.Diff(want, times(200*time.Second)); diff != "" {
		t.Errorf("used at (-want +got):\n%s", diff)
	}
}

func TestAllowanceIsWholeAgainAfterARest(t *testing.T) {
	var a Allowance
	for range 10 {
		a = a.Used(limit, noon)
	}
	rested := noon.Add(10 * time.Minute)
	if a.IsWhole(rested.Add(-time.Second)) || !a.IsWhole(rested) {
		t.Error("it is whole at another time than when nothing is used any more")
	}
	for n := range 3 {
		now := rested.Add(time.Duration(n) * limit.Least)
		if next := a.Next(limit); next.After(now) {
			t.Errorf("use %d after a rest: allowed at %v, want %v", n, next, now)
		}
		a = a.Used(limit, now)
	}
}

// No period has more uses than the limit allows, no matter when the uses are requested.
func TestUsesAreBoundedInEachPeriod(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var a Allowance
		var used []time.Time
		for now := noon; now.Before(noon.Add(time.Hour)); now = now.Add(time.Duration(random.IntN(8)) * limit.Every / time.Duration(1+random.IntN(60))) {
			if next := a.Next(limit); now.Before(next) {
				now = next
			}
			a = a.Used(limit, now)
			used = append(used, now)
		}
		for first, from := range used {
			for more, to := range slices.All(used[first:]) {
				if bound := limit.Burst + int(to.Sub(from)/limit.Every); more+1 > bound {
					t.Fatalf("seed %d: %d uses in %v, want %d at most", seed, more+1, to.Sub(from), bound)
				}
			}
		}
	}
}

func TestUseThatIsReturnedDoesNotCount(t *testing.T) {
	var a Allowance
	for n := range 10 {
		now := noon.Add(time.Duration(n) * limit.Least)
		if now.Before(a.Next(limit)) {
			t.Fatalf("it may not be used for the %d. time, although all before were returned", n+1)
		}
		a = a.Used(limit, now).Returned(limit)
	}
}
