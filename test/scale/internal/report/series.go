package report

import (
	"math"
	"slices"
)

// maxPoints is the duration in seconds up to which a series has a point for each
// second.
const maxPoints = 60

// Series is the course of a measurement. The time of the measurement is divided
// into equal parts.
type Series struct {
	EverySeconds int `json:"everySeconds"`
	// Calls has the number of calls to the cloud in each part. Refused has the
	// number of those calls that the quota refused.
	Calls   []int `json:"calls"`
	Refused []int `json:"refused"`
	// MemoryBytes is the resident memory at the end of each part.
	MemoryBytes []int64 `json:"memoryBytes"`
}

// Sample has the counts at one time of a measurement.
type Sample struct {
	Seconds        float64 // since the beginning of the measurement
	Calls, Refused int     // so far
	MemoryBytes    int64
}

// NewSeries makes a series of samples that were taken once a second. It returns
// nil if there are no samples.
func NewSeries(samples []Sample) *Series {
	if len(samples) == 0 {
		return nil
	}
	s := &Series{EverySeconds: 1}
	if samples[len(samples)-1].Seconds > maxPoints+1 {
		s.EverySeconds = 10
	}
	var before Sample
	for _, now := range samples {
		part := max(0, int(math.Ceil(math.Round(now.Seconds)/float64(s.EverySeconds)))-1)
		for len(s.Calls) <= part {
			s.Calls, s.Refused, s.MemoryBytes = append(s.Calls, 0), append(s.Refused, 0), append(s.MemoryBytes, before.MemoryBytes)
		}
		s.Calls[part] += now.Calls - before.Calls
		s.Refused[part] += now.Refused - before.Refused
		s.MemoryBytes[part] = now.MemoryBytes
		before = now
	}
	return s
}

// Unevenness returns the number of calls in the busiest ten seconds, divided by the
// mean number in ten seconds. The last ten seconds do not count, because they may be
// incomplete. Without calls the result is 0.
func (s *Series) Unevenness() float64 {
	tens := chunks(s.Calls, 10/s.EverySeconds)
	if len(tens) > 1 {
		tens = tens[:len(tens)-1]
	}
	all := 0
	for _, n := range tens {
		all += n
	}
	if all == 0 {
		return 0
	}
	return float64(slices.Max(tens)) * float64(len(tens)) / float64(all)
}

// byMinute returns the sum of the counts in each minute.
func (s *Series) byMinute(counts []int) []int { return chunks(counts, 60/s.EverySeconds) }

// memoryByMinute returns the memory at the end of each minute.
func (s *Series) memoryByMinute() []int64 {
	var ends []int64
	for part := range slices.Chunk(s.MemoryBytes, 60/s.EverySeconds) {
		ends = append(ends, part[len(part)-1])
	}
	return ends
}

func chunks(counts []int, size int) []int {
	var sums []int
	for part := range slices.Chunk(counts, size) {
		n := 0
		for _, count := range part {
			n += count
		}
		sums = append(sums, n)
	}
	return sums
}
