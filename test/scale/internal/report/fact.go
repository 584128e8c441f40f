package report

import (
	"fmt"
	"time"
)

// The names of facts that the README, the table of scaling or the picture shows.
const (
	AllInitialized  = "all initialised"
	MedianNode      = "the median Node"
	QuotaNeeds      = "the quota needs"
	NodesGone       = "their Nodes are gone"
	GoneByThen      = "Nodes gone by then"
	IdleCalls       = "cloud calls"
	IdleCPU         = "CPU"
	AddressesFollow = "addresses follow"
	OutageCalls     = "calls during the outage"
	OutageOver      = "all done after the recovery"
	AfterSIGTERM    = "initialised by the other after SIGTERM"
	AfterSIGKILL    = "initialised by the other after SIGKILL"
	AllExposed      = "all have their addresses"
	AllBackends     = "all load balancers have all Nodes"
	AllRouted       = "all Nodes have routes and say so"
)

// Fact is one result of a measurement: the time that something took, or that it did
// not happen within a time, or a number, or a quantity with a unit.
type Fact struct {
	What      string   `json:"what"`
	Seconds   float64  `json:"seconds,omitempty"`
	NotWithin float64  `json:"notWithinSeconds,omitempty"`
	Count     *int     `json:"count,omitempty"`
	Of        int      `json:"of,omitempty"`
	Value     *float64 `json:"value,omitempty"`
	Unit      string   `json:"unit,omitempty"`
}

// Took says how long something took.
func Took(what string, d time.Duration) Fact { return Fact{What: what, Seconds: d.Seconds()} }

// Never says that something has not happened within a time.
func Never(what string, within time.Duration) Fact {
	return Fact{What: what, NotWithin: within.Seconds()}
}

// Number says how many of something there were. Of is how many were possible, or 0 if
// there is no such number.
func Number(what string, n, of int) Fact { return Fact{What: what, Count: &n, Of: of} }

// Quantity says how much of something there was, with a unit.
func Quantity(what string, value float64, unit string) Fact {
	return Fact{What: what, Value: &value, Unit: unit}
}

func (f Fact) String() string { return f.What + ": " + f.Text() }

// Text returns the fact without its name.
func (f Fact) Text() string {
	switch {
	case f.Count != nil && f.Of > 0:
		return fmt.Sprintf("%d of %d", *f.Count, f.Of)
	case f.Count != nil:
		return Grouped(*f.Count)
	case f.Value != nil:
		return digits(*f.Value) + " " + f.Unit
	case f.NotWithin > 0:
		return "not within " + seconds(f.NotWithin)
	default:
		return seconds(f.Seconds)
	}
}

// seconds writes a time with as many digits as are worth reading.
func seconds(s float64) string {
	if s < 100 {
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%.0f s", s)
}

// digits writes a quantity with as many digits as are worth reading.
func digits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}
