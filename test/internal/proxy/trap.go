package proxy

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Request is one that has come to the proxy.
type Request struct {
	Method, Path, UserAgent string
	// Watch means that the answer is a stream.
	Watch bool
	Began time.Time
	// Ended is zero while the request is under way. A request that its sender
	// has given up is under way as long as the network or the server has it.
	Ended time.Time
}

// Match selects requests; nil selects all.
type Match func(Request) bool

// Point is where on its way a request is trapped.
type Point int

// The points.
const (
	// Before the server has the request.
	Before Point = iota
	// After the server has carried the request out, before its reply is sent.
	After
)

// Trap stops one request.
type Trap struct {
	match  Match
	n      int // which of the requests that match; guarded by book.mu
	at     Point
	sprung chan struct{}
	// decision is closed by Release or Cut, after cut is written.
	decision chan struct{}
	decide   sync.Once
	cut      bool
}

// Trap sets a trap for the n-th request from now on, counted from 1, that
// matches.
func (p *Proxy) Trap(match Match, n int, at Point) *Trap {
	t := &Trap{match: match, n: n, at: at, sprung: make(chan struct{}), decision: make(chan struct{})}
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	p.book.traps = append(p.book.traps, t)
	return t
}

// Requests are those that have come and match, in the order in which they came.
func (p *Proxy) Requests(match Match) []Request {
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	var found []Request
	for _, r := range p.book.requests {
		if match == nil || match(*r) {
			found = append(found, *r)
		}
	}
	return found
}

// Sprung is closed when the request is there; it is held from then on, until
// Release or Cut.
func (t *Trap) Sprung() <-chan struct{} { return t.sprung }

// Release lets the request go on. It may be said before the request has come,
// and after that it is too late for Cut.
func (t *Trap) Release() { t.decide.Do(func() { close(t.decision) }) }

// Cut cuts the connection: the request never reaches the server, or its reply
// is lost. It may be said before the request has come, and after that it is
// too late for Release.
func (t *Trap) Cut() {
	t.decide.Do(func() {
		t.cut = true
		close(t.decision)
	})
}

// spring holds the request and returns whether it goes on.
func (t *Trap) spring() bool {
	close(t.sprung)
	<-t.decision
	return !t.cut
}

var errReplyLost = errors.New("the reply is lost")

func (t *Trap) holdReply() error {
	if !t.spring() {
		return errReplyLost
	}
	return nil
}

// book keeps the requests and the traps.
type book struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	requests []*Request // guarded by mu
	traps    []*Trap    // those that have not caught theirs; guarded by mu
	caught   []*Trap    // guarded by mu
}

// enter takes note of a request and returns the trap that it falls into, if
// any. A request counts for all traps that it matches.
func (b *book) enter(r *http.Request) (*Request, *Trap) {
	b.mu.Lock()
	defer b.mu.Unlock()
	entry := &Request{
		Method: r.Method, Path: r.URL.Path, UserAgent: r.UserAgent(), Began: b.clock.Now(),
		Watch: slices.Contains(r.URL.Query()["watch"], "true") || slices.Contains(r.URL.Query()["watch"], "1"),
	}
	b.requests = append(b.requests, entry)
	var caught *Trap
	b.traps = slices.DeleteFunc(b.traps, func(t *Trap) bool {
		if t.match != nil && !t.match(*entry) {
			return false
		}
		t.n--
		if t.n > 0 || caught != nil {
			return false
		}
		caught = t
		return true
	})
	if caught != nil {
		b.caught = append(b.caught, caught)
	}
	return entry, caught
}

func (b *book) leave(r *Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.Ended = b.clock.Now()
}

// cutAll ends the wait of all traps.
func (b *book) cutAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range slices.Concat(b.traps, b.caught) {
		t.Cut()
	}
}
