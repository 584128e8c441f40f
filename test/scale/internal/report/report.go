// Package report has the results of a benchmark, and writes them for people and
// for programs.
package report

import (
	"slices"
	"strings"
)

// Report has the results of a whole benchmark.
type Report struct {
	Date     string    `json:"date"` // RFC 3339
	Machine  Machine   `json:"machine"`
	Programs []Program `json:"programs"`
	// Flags are the flags of the benchmark that have an effect on the results.
	Flags   map[string]string `json:"flags"`
	Seconds float64           `json:"seconds"` // duration of the benchmark
	Rows    []Row             `json:"rows"`
}

// Program is a program that was measured.
type Program struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Row has the results of one contender in one scenario.
type Row struct {
	Scenario  string `json:"scenario"`
	What      string `json:"what"`
	Contender string `json:"contender"`
	// Nodes and Services are the sizes of the cluster. They are 0 in results
	// before 2026-11-22. In those results Report.Flags has the sizes.
	Nodes    int `json:"nodes,omitempty"`
	Services int `json:"services,omitempty"`
	// FastPaths is "on" or "off". It is empty if the scenario does not depend on
	// fast paths.
	FastPaths string   `json:"fastPaths,omitempty"`
	Flags     []string `json:"flags"` // flags that do not have the contender's defaults
	Outcome   []Fact   `json:"outcome"`
	// HealthyNodesDeleted is the number of Nodes that the contender deleted
	// although their instances run.
	HealthyNodesDeleted int `json:"healthyNodesDeleted"`
	// CloudCalls are the calls that the cloud has counted, by call and then by result.
	CloudCalls map[string]map[string]int `json:"cloudCalls"`
	Throttled  int                       `json:"throttled"` // number of calls with the answer 429
	// APIWrites and APIReads are the requests that the API server has logged, by verb
	// and resource. The Lease is left out. Writes include Events.
	APIWrites  map[string]int `json:"apiWrites"`
	APIReads   map[string]int `json:"apiReads"`
	APIRefused int            `json:"apiRefused"`
	Events     int            `json:"events"`
	// CPUSeconds is the user and system time that the daemons used during the
	// measurement. Seconds is the duration of the measurement.
	CPUSeconds float64 `json:"cpuSeconds"`
	Seconds    float64 `json:"seconds"`
	// PeakBytes is the largest resident memory since the process started.
	PeakBytes int64 `json:"peakBytes"`
	// Series is the course of the measurement. It is nil in results before
	// 2026-11-22.
	Series *Series `json:"series,omitempty"`
	// TookSeconds is the duration of the whole run, including the preparation.
	TookSeconds float64 `json:"tookSeconds,omitempty"`
	// Error is the reason why the numbers are missing or cannot be trusted.
	Error string `json:"error,omitempty"`
}

// Calls returns the number of calls to the cloud.
func (r Row) Calls() int {
	n := 0
	for _, results := range r.CloudCalls {
		n += sum(results)
	}
	return n
}

// Writes returns the number of writes to the API server, without those of
// Events.
func (r Row) Writes() int { return sum(r.APIWrites) - r.Events }

// Reads returns the number of reads from the API server.
func (r Row) Reads() int { return sum(r.APIReads) }

func sum(counts map[string]int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}

// outcome returns the text of the facts. For a failed run it returns the reason
// of the failure.
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

// Fact returns the fact with this name. It returns false if the run failed or
// does not have the fact.
func (r Row) Fact(what string) (Fact, bool) {
	n := slices.IndexFunc(r.Outcome, func(f Fact) bool { return f.What == what })
	if n < 0 || r.Error != "" {
		return Fact{}, false
	}
	return r.Outcome[n], true
}
