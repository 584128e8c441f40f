package traffic

import (
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// stickiness remembers the backend of each client, for all listeners.
type stickiness struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	timeout time.Duration         // guarded by mu; 0 means that no client is remembered
	visits  map[netip.Addr]*visit // guarded by mu
	prune   int                   // guarded by mu; number of visits at which old ones are removed
}

// visit is the last connection of a client.
type visit struct {
	backend string
	at      time.Time
}

// fewVisits is the smallest number of visits at which old ones are removed.
const fewVisits = 1024

func newStickiness(c clock.PassiveClock) *stickiness {
	return &stickiness{clock: c, visits: map[netip.Addr]*visit{}, prune: fewVisits}
}

func (s *stickiness) set(timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timeout = timeout
	if timeout == 0 {
		clear(s.visits)
	}
}

// backend returns the remembered backend of the client; empty if there is none.
func (s *stickiness) backend(client netip.Addr) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.visits[client]; v != nil && s.clock.Since(v.at) < s.timeout {
		return v.backend
	}
	return ""
}

func (s *stickiness) note(client netip.Addr, backend string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timeout == 0 {
		return
	}
	s.visits[client] = &visit{backend, s.clock.Now()}
	if len(s.visits) < s.prune {
		return
	}
	for client, v := range s.visits {
		if s.clock.Since(v.at) >= s.timeout {
			delete(s.visits, client)
		}
	}
	s.prune = max(fewVisits, 2*len(s.visits))
}
