package serving

import (
	"net/http"
	"slices"
	"sync"

	"k8s.io/utils/clock"
)

// places bounds the requests that are read and answered at the same time. If all
// places are taken, a new request gets the place of the request that has been
// arriving for the longest time. The API server sends each request without pauses,
// so only callers that stop in the middle of a request lose their places.
type places struct {
	limit    int
	decoding sync.Mutex // one request is decoded at a time, because that takes several times its size

	mu      sync.Mutex
	taken   int      // guarded by mu
	reading []*place // places of requests that are still arriving, oldest first; guarded by mu
}

// place is the place of one request.
type place struct {
	of      *places
	request http.ResponseWriter
	lost    bool // guarded by of.mu
}

// take returns a place. If requests that have arrived hold all places, it returns
// nil.
func (p *places) take(w http.ResponseWriter) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.taken < p.limit:
		p.taken++
	case len(p.reading) == 0:
		return nil
	default:
		oldest := p.reading[0]
		p.reading = p.reading[1:]
		oldest.lost = true
		// The response writer is still valid, because the handler of this
		// request has not returned. Before the handler returns, it calls leave,
		// which removes the place from p.reading.
		_ = http.NewResponseController(oldest.request).SetReadDeadline(clock.RealClock{}.Now())
	}
	taken := &place{of: p, request: w}
	p.reading = append(p.reading, taken)
	return taken
}

// arrived must be called when the handler has read the whole request. It reports whether
// the request still has its place. If so, the request keeps the place until leave is
// called.
func (p *place) arrived() bool {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.stopReading()
	return !p.lost
}

// leave gives the place back, unless another request has taken it.
func (p *place) leave() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.stopReading()
	if !p.lost {
		p.of.taken--
	}
}

func (p *place) stopReading() {
	p.of.reading = slices.DeleteFunc(p.of.reading, func(other *place) bool { return other == p })
}
