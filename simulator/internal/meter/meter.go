// Package meter counts the calls of customers and remembers the most recent
// calls.
//
// It imports wire. Packages view, api and simulator may import it.
package meter

import (
	"cmp"
	"slices"
	"sync"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// Remembered is the number of recent calls that are kept and reported.
const Remembered = 200

// Meter counts calls and remembers the most recent calls.
type Meter struct {
	mu         sync.Mutex
	generation int64             // guarded by mu; begins at 1 and grows with each reset
	total      int64             // guarded by mu; calls of this generation
	counts     map[outcome]int64 // guarded by mu
	last       []wire.CallRecord // guarded by mu; the oldest first
}

type outcome struct {
	call   wire.Call
	result string
}

// New returns a meter without calls.
func New() *Meter { return &Meter{generation: 1, counts: map[outcome]int64{}} }

// Record counts a call and remembers it.
func (m *Meter) Record(r wire.CallRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total++
	m.counts[outcome{r.Call, r.Result}]++
	if len(m.last) == Remembered {
		m.last = slices.Delete(m.last, 0, 1)
	}
	m.last = append(m.last, r)
}

// Report returns the calls since the start or the last reset.
func (m *Meter) Report() wire.CallReport {
	news, _ := m.Since(Bookmark{})
	return news.CallReport
}

// Bookmark is a position in the sequence of calls. The zero value is
// the position before the first call.
type Bookmark struct{ generation, total int64 }

// News reports the calls after a Bookmark.
type News struct {
	wire.CallReport

	// Fresh means that the calls were reset after the Bookmark, or that the
	// Bookmark is the zero value.
	Fresh bool `json:"fresh"`
	// Missed is the number of calls after the Bookmark that are no longer remembered.
	// They are older than those in Last.
	Missed int64 `json:"missed"`
}

// Since reports all counters, and the remembered calls after the Bookmark. It
// also returns a Bookmark for the present position.
func (m *Meter) Since(read Bookmark) (News, Bookmark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := Bookmark{m.generation, m.total}
	news := News{Fresh: read.generation != now.generation}
	if news.Fresh {
		read.total = 0
	}
	made := now.total - read.total
	told := min(made, int64(len(m.last)))
	news.Missed = made - told
	news.Last = append([]wire.CallRecord{}, m.last[int64(len(m.last))-told:]...)
	news.Counters = []wire.CallCounter{}
	for o, n := range m.counts {
		news.Counters = append(news.Counters, wire.CallCounter{Call: o.call, Result: o.result, Count: n})
	}
	slices.SortFunc(news.Counters, func(x, y wire.CallCounter) int {
		return cmp.Or(cmp.Compare(x.Call, y.Call), cmp.Compare(x.Result, y.Result))
	})
	return news, now
}

// Reset forgets all calls.
func (m *Meter) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	m.total = 0
	clear(m.counts)
	m.last = nil
}
