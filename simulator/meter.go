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
	mu         sync.Mutex
	generation int64             // guarded by mu; from 1 on, one more with each reset
	total      int64             // guarded by mu; of this generation
	counts     map[outcome]int64 // guarded by mu
	last       []CallRecord      // guarded by mu; the oldest first
}

type outcome struct {
	call   Call
	result string
}

func newMeter() *meter { return &meter{generation: 1, counts: map[outcome]int64{}} }

func (m *meter) record(r CallRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total++
	m.counts[outcome{r.Call, r.Result}]++
	if len(m.last) == rememberedCalls {
		m.last = slices.Delete(m.last, 0, 1)
	}
	m.last = append(m.last, r)
}

func (m *meter) report() CallReport {
	news, _ := m.since(bookmark{})
	return news.CallReport
}

// bookmark is up to where somebody has read the calls; the zero bookmark is
// before all of them.
type bookmark struct{ generation, total int64 }

// callNews are the calls since a bookmark.
type callNews struct {
	CallReport

	// Fresh means that what was told before is forgotten.
	Fresh bool `json:"fresh"`
	// Missed is how many calls before Last are forgotten already.
	Missed int64 `json:"missed"`
}

// since reports all counters, and the calls since a bookmark, as far as they
// are remembered.
func (m *meter) since(read bookmark) (callNews, bookmark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := bookmark{m.generation, m.total}
	news := callNews{Fresh: read.generation != now.generation}
	if news.Fresh {
		read.total = 0
	}
	made := now.total - read.total
	told := min(made, int64(len(m.last)))
	news.Missed = made - told
	news.Last = append([]CallRecord{}, m.last[int64(len(m.last))-told:]...)
	news.Counters = []CallCounter{}
	for o, n := range m.counts {
		news.Counters = append(news.Counters, CallCounter{Call: o.call, Result: o.result, Count: n})
	}
	slices.SortFunc(news.Counters, func(x, y CallCounter) int {
		return cmp.Or(cmp.Compare(x.Call, y.Call), cmp.Compare(x.Result, y.Result))
	})
	return news, now
}

func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	m.total = 0
	clear(m.counts)
	m.last = nil
}
