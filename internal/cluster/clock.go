package cluster

import (
	"net/http"
	"sync"
	"time"
)

// Clock derives the time of the API server from the Date header of its first
// answer.
type Clock struct {
	// Now is the local clock.
	Now func() time.Time

	mu     sync.Mutex
	date   time.Time // guarded by mu
	offset time.Duration
}

// Wrap is a transport.WrapperFunc for the client.
func (c *Clock) Wrap(next http.RoundTripper) http.RoundTripper { return dated{next, c} }

type dated struct {
	next  http.RoundTripper
	clock *Clock
}

// RoundTrip implements http.RoundTripper.
func (d dated) RoundTrip(r *http.Request) (*http.Response, error) {
	before := d.clock.Now()
	answer, err := d.next.RoundTrip(r)
	if err == nil {
		d.clock.note(answer.Header.Get("Date"), before, d.clock.Now())
	}
	return answer, err
}

// note compares the first Date with the local clock. A Date has no fraction of a second.
// So the clocks count as equal if the request was under way at some time in that second.
func (c *Clock) note(header string, before, after time.Time) {
	date, err := http.ParseTime(header)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.date.IsZero() {
		return
	}
	c.date = date
	switch end := date.Add(time.Second); {
	case after.Before(date):
		c.offset = after.Sub(date)
	case before.After(end):
		c.offset = before.Sub(end)
	}
}

// Server returns the time by the clock of the API server. It also returns how far the
// local clock is ahead of that clock.
func (c *Clock) Server() (time.Time, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Now().Add(-c.offset), c.offset
}
