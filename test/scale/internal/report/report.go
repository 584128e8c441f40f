// Package report holds what a benchmark has found, and writes it for people and
// for programs.
package report

import (
	"slices"
	"strings"
)

// Report is a whole benchmark.
type Report struct {
	Date     string    `json:"date"` // RFC 3339
	Machine  Machine   `json:"machine"`
	Programs []Program `json:"programs"`
	// Flags are the flags of the benchmark that decide what is measured.
	Flags   map[string]string `json:"flags"`
	Seconds float64           `json:"seconds"` // that the benchmark took
	Rows    []Row             `json:"rows"`
}

// Program is a program that was measured.
type Program struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Row is what one contender did in one scenario.
type Row struct {
	Scenario  string `json:"scenario"`
	What      string `json:"what"`
	Contender string `json:"contender"`
	// Nodes and Services are the sizes of the cluster; 0 in results before
	// 2026-11-22, where Report.Flags has them.
	Nodes    int `json:"nodes,omitempty"`
	Services int `json:"services,omitempty"`
	// FastPaths is "on" or "off", and empty where the scenario does not depend on
	// what the provider offers.
	FastPaths string   `json:"fastPaths,omitempty"`
	Flags     []string `json:"flags"` // that are not the contender's defaults
	Outcome   []Fact   `json:"outcome"`
	// HealthyNodesDeleted is how many Nodes the contender deleted although their
	// instances run.
	HealthyNodesDeleted int `json:"healthyNodesDeleted"`
	// CloudCalls are counted by the cloud, by call and then by result.
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
	// Series is what happened meanwhile; nil in results before 2026-11-22.
	Series *Series `json:"series,omitempty"`
	// TookSeconds is how long the whole run took, with its preparation.
	TookSeconds float64 `json:"tookSeconds,omitempty"`
	// Error is why the numbers are missing or not to be trusted.
	Error string `json:"error,omitempty"`
}

// Calls returns how many calls to the cloud were made.
func (r Row) Calls() int {
	n := 0
	for _, results := range r.CloudCalls {
		n += sum(results)
	}
	return n
}

// Writes returns how many writes were made, without those of Events.
func (r Row) Writes() int { return sum(r.APIWrites) - r.Events }

// Reads returns how many reads were made.
func (r Row) Reads() int { return sum(r.APIReads) }

func sum(counts map[string]int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}

// outcome returns the facts, or why there are none.
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

// Fact returns the fact of this name, false if the run failed or has none.
func (r Row) Fact(what string) (Fact, bool) {
	n := slices.IndexFunc(r.Outcome, func(f Fact) bool { return f.What == what })
	if n < 0 || r.Error != "" {
		return Fact{}, false
	}
	return r.Outcome[n], true
}
