package serving

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
)

// places bounds the requests that are read and answered at the same time. If all places
// are taken, a request waits. A free place goes to the host that got its last one before
// all others. So a host that calls from time to time, as the API server does, is next,
// however many requests of others wait. The API server sends each request without pauses,
// so only callers that stop in the middle of a request lose their places.
type places struct {
	limit    int
	decoding sync.Mutex // one request is decoded at a time, because that takes several times its size

	mu      sync.Mutex
	taken   int                   // guarded by mu
	reading []*place              // places of requests that are still arriving; guarded by mu
	waiting []*place              // the oldest first; guarded by mu
	turn    int                   // places given so far; guarded by mu
	turns   *cache.LRUExpireCache // the last turn of each host, or the one before which it was unknown
}

func newPlaces(limit int) *places {
	return &places{limit: limit, turns: cache.NewLRUExpireCache(remembered)}
}

// place is the place of one request.
type place struct {
	of      *places
	request http.ResponseWriter
	host    string
	given   chan struct{} // closed when the request gets the place
	hurries bool          // it has hurriedTimeout to arrive; guarded by of.mu
}

// take returns a place, or nil if there is none within readTimeout.
func (p *places) take(ctx context.Context, w http.ResponseWriter, host string) *place {
	asked := &place{of: p, request: w, host: host, given: make(chan struct{})}
	p.mu.Lock()
	if _, known := p.turns.Get(host); !known { // Its first turn is after those of hosts that were answered before.
		p.turns.Add(host, p.turn+1, rememberFor)
	}
	p.waiting = append(p.waiting, asked)
	p.share()
	p.mu.Unlock()
	limit := clock.RealClock{}.NewTimer(readTimeout)
	defer limit.Stop()
	select {
	case <-asked.given:
		return asked
	case <-limit.C():
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.waiting, asked) { // It was given in the meantime.
		return asked
	}
	p.waiting = without(p.waiting, asked)
	return nil
}

// share gives free places to requests that wait. While more wait, those that are still
// arriving have to hurry. The caller holds mu.
func (p *places) share() {
	for len(p.waiting) > 0 && p.taken < p.limit {
		next := slices.MinFunc(p.waiting, func(x, y *place) int { return cmp.Compare(p.last(x.host), p.last(y.host)) })
		p.waiting, p.reading = without(p.waiting, next), append(p.reading, next)
		p.taken++
		p.turn++
		p.turns.Add(next.host, p.turn, rememberFor)
		limitRead(next.request, readTimeout)
		close(next.given)
	}
	if len(p.waiting) == 0 {
		return
	}
	for _, slow := range p.reading {
		if !slow.hurries {
			slow.hurries = true
			// The response writer is still valid, because the handler of this request
			// has not returned. Before, it calls leave.
			limitRead(slow.request, hurriedTimeout)
		}
	}
}

// last returns the last turn of a host. It is 0 if too many hosts are known.
func (p *places) last(host string) int {
	turn, _ := p.turns.Get(host)
	last, _ := turn.(int)
	return last
}

// arrived must be called when the handler has read the whole request. The deadline for
// reading is removed. Otherwise it could pass while the webhook works, and end the
// request's context.
func (p *place) arrived() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.of.reading = without(p.of.reading, p)
	_ = http.NewResponseController(p.request).SetReadDeadline(time.Time{})
}

// leave gives the place back.
func (p *place) leave() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.of.reading = without(p.of.reading, p)
	p.of.taken--
	p.of.share()
}

func without(all []*place, one *place) []*place {
	return slices.DeleteFunc(all, func(p *place) bool { return p == one })
}
