package simulator

import (
	"cmp"
	"slices"
	"sync"
)

// rememberedCalls is how many of the last calls are told.
const rememberedCalls = 200

// meter counts calls and remembers the last ones.
type meter struct {
	mu     sync.Mutex
	counts map[outcome]int64 // guarded by mu
	last   []CallRecord      // guarded by mu; the oldest first
}

type outcome struct {
	call   Call
	result string
}

func newMeter() *meter { return &meter{counts: map[outcome]int64{}} }

func (m *meter) record(r CallRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[outcome{r.Call, r.Result}]++
	if len(m.last) == rememberedCalls {
		m.last = slices.Delete(m.last, 0, 1)
	}
	m.last = append(m.last, r)
}

func (m *meter) report() CallReport {
	m.mu.Lock()
	defer m.mu.Unlock()
	report := CallReport{Counters: []CallCounter{}, Last: slices.Clone(m.last)}
	if report.Last == nil {
		report.Last = []CallRecord{}
	}
	for o, n := range m.counts {
		report.Counters = append(report.Counters, CallCounter{Call: o.call, Result: o.result, Count: n})
	}
	slices.SortFunc(report.Counters, func(x, y CallCounter) int {
		return cmp.Or(cmp.Compare(x.Call, y.Call), cmp.Compare(x.Result, y.Result))
	})
	return report
}

func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.counts)
	m.last = nil
}
