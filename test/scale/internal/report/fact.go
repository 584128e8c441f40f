package report

import (
	"fmt"
	"time"
)

// These are the names of the facts that are shown in the README, in the table of
// scaling or in the picture.
const (
	AllInitialized  = "all initialised"
	MedianNode      = "the median Node"
	QuotaNeeds      = "the quota needs"
	FirstGone       = "the first Node is gone"
	NodesGone       = "their Nodes are gone"
	PodsBound       = "their Pods are bound elsewhere"
	PodsMoved       = "their Pods run elsewhere"
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
	AllGone         = "all are gone, in the cloud too"
	CallsByThen     = "calls by then"
	RefusedByThen   = "refused by then"
	IdleUse         = "idle use of bucket " // and the name of the bucket
	CallsWhileIdle  = "calls while idle"
	IdleRefused     = "refused while idle"
	ExposingRefused = "refused while Services are created"
	JoiningRefused  = "refused while one Node joins"
	DeletionRefused = "refused while Services are deleted"
	CallsInAll      = "cloud calls in all"
	ListsInAll      = "these are"
)

// Fact is one result of a measurement. It is a duration, a time within which
// something did not happen, a number, or a quantity with a unit.
type Fact struct {
	What      string   `json:"what"`
	Seconds   float64  `json:"seconds,omitempty"`
	NotWithin float64  `json:"notWithinSeconds,omitempty"`
	Count     *int     `json:"count,omitempty"`
	Of        int      `json:"of,omitempty"`
	Value     *float64 `json:"value,omitempty"`
	Unit      string   `json:"unit,omitempty"`
}

// Took returns the fact that something took this long.
func Took(what string, d time.Duration) Fact { return Fact{What: what, Seconds: d.Seconds()} }

// Never returns the fact that something did not happen within this time.
func Never(what string, within time.Duration) Fact {
	return Fact{What: what, NotWithin: within.Seconds()}
}

// Number returns the fact that there were n of something. The last argument is the
// largest possible value of n, or 0 if there is none.
func Number(what string, n, of int) Fact { return Fact{What: what, Count: &n, Of: of} }

// Quantity returns the fact that there was this quantity of something.
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

// seconds formats a time without meaningless digits.
func seconds(s float64) string {
	if s < 100 {
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%.0f s", s)
}

// digits formats a quantity without meaningless digits.
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
