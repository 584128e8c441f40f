package service

import "sync"

// claims has the Services that are in use. A Service is used by one pass, by one call
// that updates several load balancers, or by one preparation of a call, but never by
// two of these at the same time. So calls about one Service never overlap (promise S3).
type claims struct {
	mu sync.Mutex
	of map[string]*claim // by key; guarded by mu
}

// claim is the use of one Service.
type claim struct {
	refused bool          // another claim of the Service was refused meanwhile
	ended   chan struct{} // closed at the end of a preparation; nil if the claim is not for a preparation
}

func newClaims() *claims { return &claims{of: map[string]*claim{}} }

// claim claims a Service and reports whether it was free.
func (c *claims) claim(key string) bool { return c.take(key, &claim{}) == nil }

// prepare claims a Service for a preparation, and reports whether it was free.
func (c *claims) prepare(key string) bool {
	return c.take(key, &claim{ended: make(chan struct{})}) == nil
}

// claimForPass is like claim, but it first waits for the end of a preparation.
// Without this wait, the Service would lose its place in the queue.
func (c *claims) claimForPass(key string) bool {
	for {
		held := c.take(key, &claim{})
		if held == nil || held.ended == nil {
			return held == nil
		}
		<-held.ended
	}
}

// take stores own as the claim of the Service, and returns nil. If the Service is
// claimed already, take returns the existing claim instead.
func (c *claims) take(key string, own *claim) (held *claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held = c.of[key]; held != nil {
		held.refused = held.refused || held.ended == nil
		return held
	}
	c.of[key] = own
	return nil
}

// release ends a claim, and reports whether another claim of the Service was refused
// during that time.
func (c *claims) release(key string) (refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.of[key]
	delete(c.of, key)
	if own.ended != nil {
		close(own.ended)
	}
	return own.refused
}
