package traffic

import (
	"context"
	"sync"
)

// link is an open connection.
type link interface {
	// cut ends the connection at once. It may be called more than once.
	cut()
}

// member is a backend in one pool, with its connections there. After it leaves
// the pool, it drains. Then it either joins the pool again or ends.
type member struct {
	membership // off and probe are guarded by pool.mu; the other fields never change

	// dials counts connections that are being opened. A connection is added only
	// with pool.mu held, and only while the member belongs to the pool.
	dials sync.WaitGroup
	// stay is the context for opening connections. It is canceled when the member leaves
	// the pool. A draining member has a new context, which is canceled when the drain
	// ends.
	stay   context.Context    // guarded by pool.mu
	giveUp context.CancelFunc // guarded by pool.mu

	mu    sync.Mutex
	links map[link]struct{} // guarded by mu
	idle  chan struct{}     // guarded by mu; closed when a draining member has no link
	over  bool              // guarded by mu; no connection is admitted any more
}

func newMember(life context.Context, m membership) *member {
	member := &member{membership: m, links: map[link]struct{}{}}
	member.stay, member.giveUp = context.WithCancel(life)
	return member
}

// turn cancels the context stay and replaces it by a new one. pool.mu is held.
func (m *member) turn(life context.Context) {
	m.giveUp()
	m.stay, m.giveUp = context.WithCancel(life)
}

// refuse makes the member admit no more connections.
func (m *member) refuse() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
}

// admit accepts a connection, unless refuse or end was called.
func (m *member) admit(l link) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return false
	}
	m.links[l] = struct{}{}
	m.tally.open.Add(1)
	m.tally.connections.Add(1)
	return true
}

// release removes a connection that has ended.
func (m *member) release(l link) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.links, l)
	m.tally.open.Add(-1)
	if m.idle != nil && len(m.links) == 0 {
		close(m.idle)
		m.idle = nil
	}
}

func (m *member) busy() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.links) > 0
}

// idled returns a channel that is closed when no connection is left.
func (m *member) idled() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	idle := make(chan struct{})
	if len(m.links) == 0 {
		close(idle)
		return idle
	}
	m.idle = idle
	return idle
}

// end cuts all connections, and makes the member admit no more.
func (m *member) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	for l := range m.links {
		l.cut()
	}
}
