package proxy

import (
	"errors"
	"net/http"
	"net/http/httputil"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Request is a request that has come to the proxy.
type Request struct {
	Method, Path, UserAgent string
	// Watch means that the answer is a stream.
	Watch bool
	Began time.Time
	// Ended is the time at which the request ended, or zero while it continues. A
	// request can continue after its sender has given up.
	Ended time.Time
}

// Match selects requests; nil selects all.
type Match func(Request) bool

// Point is the point at which a request is trapped.
type Point int

// The points.
const (
	// Before traps a request before it is sent to the server.
	Before Point = iota
	// After traps a request when the server has carried it out, before its reply
	// is sent to the client.
	After
)

// Trap stops one request.
type Trap struct {
	match  Match
	n      int // matching requests still to come, including the one to trap; guarded by book.mu
	at     Point
	sprung chan struct{}
	// Release or Cut closes decision. Cut sets the field cut first.
	decision chan struct{}
	decide   sync.Once
	cut      bool
}

// Trap sets a trap for the n-th matching request from now on, counted from 1.
func (p *Proxy) Trap(match Match, n int, at Point) *Trap {
	t := &Trap{match: match, n: n, at: at, sprung: make(chan struct{}), decision: make(chan struct{})}
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	p.book.traps = append(p.book.traps, t)
	return t
}

// Requests returns the matching requests that have come, in their order.
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

// Sprung returns a channel that is closed when the trap has its request. The
// request is held until Release or Cut.
func (t *Trap) Sprung() <-chan struct{} { return t.sprung }

// Release lets the request continue. It may be called before the request has come.
// After Release, Cut has no effect.
func (t *Trap) Release() { t.decide.Do(func() { close(t.decision) }) }

// Cut cuts the connection: the request never reaches the server, or its reply is
// lost. It may be called before the request has come. After Cut, Release has no
// effect.
func (t *Trap) Cut() {
	t.decide.Do(func() {
		t.cut = true
		close(t.decision)
	})
}

// spring holds the request until Release or Cut. It reports whether the request continues.
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

// book records the requests and the traps.
type book struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	requests []*Request // guarded by mu
	traps    []*Trap    // those that have not caught a request yet; guarded by mu
	caught   []*Trap    // those that have caught a request; guarded by mu
	past     *past      // nil: all answers are of the present; guarded by mu
	rewound  *rewound   // nil: versions are those of the server; guarded by mu
}

// enter records a request and returns the trap for it, if there is one. A request
// counts for all traps that it matches.
func (b *book) enter(r *http.Request) (*Request, *Trap) {
	b.mu.Lock()
	defer b.mu.Unlock()
	entry := &Request{
		Method: r.Method, Path: r.URL.Path, UserAgent: r.UserAgent(), Began: b.clock.Now(),
		Watch: isWatch(r),
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

func isWatch(r *http.Request) bool {
	w := r.URL.Query().Get("watch")
	return w == "true" || w == "1"
}

func (b *book) leave(r *Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.Ended = b.clock.Now()
}

// changed returns the function that answers the request in another way than the server
// does, or nil.
func (b *book) changed(r *http.Request) func(http.ResponseWriter, *http.Request, *httputil.ReverseProxy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.past.concerns(r):
		return b.past.serve
	case b.rewound != nil && r.URL.Path == b.rewound.object:
		return b.rewound.serve
	default:
		return nil
	}
}

// cutAll cuts the requests of all traps.
func (b *book) cutAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range slices.Concat(b.traps, b.caught) {
		t.Cut()
	}
}
