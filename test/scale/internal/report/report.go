// Package report holds what a benchmark has found, and writes it for people and
// for programs.
package report

import (
	"fmt"
	"strings"
	"time"
)

// Report is a whole benchmark.
type Report struct {
	Date     string    `json:"date"` // RFC 3339
	Machine  Machine   `json:"machine"`
	Programs []Program `json:"programs"`
	// Flags are the sizes, as on the command line.
	Flags   map[string]string `json:"flags"`
	Seconds float64           `json:"seconds"` // that it took
	Rows    []Row             `json:"rows"`
}

// Program is one that was measured or measured with.
type Program struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Row is what one contender did in one scenario.
type Row struct {
	Scenario  string   `json:"scenario"`
	What      string   `json:"what"`
	Contender string   `json:"contender"`
	Flags     []string `json:"flags"` // that are not the contender's defaults
	Outcome   []Fact   `json:"outcome"`
	// HealthyNodesDeleted are Nodes that the contender deleted although their
	// instances run.
	HealthyNodesDeleted int `json:"healthyNodesDeleted"`
	// CloudCalls are counted by the cloud: by kind, then by result.
	CloudCalls map[string]map[string]int `json:"cloudCalls"`
	Throttled  int                       `json:"throttled"` // calls that were answered 429
	// APIWrites and APIReads are counted by the API server, by verb and
	// resource, without the Lease. Writes include Events.
	APIWrites  map[string]int `json:"apiWrites"`
	APIReads   map[string]int `json:"apiReads"`
	APIRefused int            `json:"apiRefused"`
	Events     int            `json:"events"`
	// CPUSeconds is user and system time within the measured Seconds.
	CPUSeconds float64 `json:"cpuSeconds"`
	Seconds    float64 `json:"seconds"`
	// PeakBytes is the largest resident memory since the process started.
	PeakBytes int64 `json:"peakBytes"`
	// Error is why the numbers are missing or not to be trusted.
	Error string `json:"error,omitempty"`
}

// Fact is one thing that was seen: a time, that it has not happened within a
// time, or a number.
type Fact struct {
	What      string  `json:"what"`
	Seconds   float64 `json:"seconds,omitempty"`
	NotWithin float64 `json:"notWithinSeconds,omitempty"`
	Count     *int    `json:"count,omitempty"`
	Of        int     `json:"of,omitempty"`
}

// Took says how long something took.
func Took(what string, d time.Duration) Fact { return Fact{What: what, Seconds: d.Seconds()} }

// Never says that something has not happened within a time.
func Never(what string, within time.Duration) Fact {
	return Fact{What: what, NotWithin: within.Seconds()}
}

// Number says how many; of is how many were possible, 0 where that means
// nothing.
func Number(what string, n, of int) Fact { return Fact{What: what, Count: &n, Of: of} }

func (f Fact) String() string {
	switch {
	case f.Count != nil && f.Of > 0:
		return fmt.Sprintf("%s: %d of %d", f.What, *f.Count, f.Of)
	case f.Count != nil:
		return fmt.Sprintf("%s: %d", f.What, *f.Count)
	case f.NotWithin > 0:
		return fmt.Sprintf("%s: not within %s", f.What, seconds(f.NotWithin))
	default:
		return fmt.Sprintf("%s: %s", f.What, seconds(f.Seconds))
	}
}

// seconds has as many digits as are worth reading.
func seconds(s float64) string {
	if s < 100 {
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%.0f s", s)
}

// Calls is how many calls of the cloud were made.
func (r Row) Calls() int {
	n := 0
	for _, results := range r.CloudCalls {
		n += sum(results)
	}
	return n
}

// Writes is how many writes were made that are not Events.
func (r Row) Writes() int { return sum(r.APIWrites) - r.Events }

// Reads is how many reads were made.
func (r Row) Reads() int { return sum(r.APIReads) }

func sum(counts map[string]int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}

// outcome is the facts, or why there are none.
func (r Row) outcome() string {
	if r.Error != "" {
		first, _, _ := strings.Cut(r.Error, "\n")
		return "FAILED: " + first
	}
	texts := make([]string, len(r.Outcome))
	for n, fact := range r.Outcome {
		texts[n] = fact.String()
	}
	return strings.Join(texts, "; ")
}
