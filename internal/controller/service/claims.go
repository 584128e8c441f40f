package service

import "sync"

// claims has the Services that something is done about: a pass, a call that updates
// several load balancers, or the preparation of a call. So calls about one Service never
// overlap (promise S3).
type claims struct {
	mu sync.Mutex
	of map[string]bool // by key, true if a pass was refused meanwhile; guarded by mu
}

func newClaims() *claims { return &claims{of: map[string]bool{}} }

// claim claims a Service and reports whether it was free.
func (c *claims) claim(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, claimed := c.of[key]; claimed {
		c.of[key] = true
		return false
	}
	c.of[key] = false
	return true
}

// release ends a claim. It reports whether a pass was refused meanwhile.
func (c *claims) release(key string) (refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused = c.of[key]
	delete(c.of, key)
	return refused
}
