package app

import (
	"slices"
	"sync"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// recaller is a controller that says what it remembers of an object.
type recaller interface {
	// Recall returns what is remembered of an object, and whether anything is. It does no
	// I/O and changes nothing, and it may be called while the controller runs.
	Recall(key string) (step.Memory, bool)
}

// memories has what the controllers that run in this process remember. The zero
// value has none.
type memories struct {
	mu      sync.Mutex
	running []running // guarded by mu
}

type running struct {
	registration
	recaller
}

// add adds the memory of a controller, if it has one. remove removes it again.
func (m *memories) add(s started) (remove func()) {
	c, ok := s.controller.(watched)
	if !ok {
		return func() {}
	}
	r, ok := c.worker.(recaller)
	if !ok {
		return func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = append(m.running, running{s.registration, r})
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.running = slices.DeleteFunc(m.running, func(r running) bool { return r.Name == s.Name })
	}
}

// of returns what the controllers remember of an object. It is a serving.Objects.
func (m *memories) of(kind, key string) (remembered any, leads bool) {
	m.mu.Lock()
	all := slices.Clone(m.running)
	m.mu.Unlock()
	var found []step.Memory
	for _, r := range all {
		if r.kind != kind {
			continue
		}
		if what, ok := r.Recall(key); ok {
			what.Controller = r.Name
			found = append(found, what)
		}
	}
	if found == nil {
		return nil, len(all) > 0
	}
	return found, true
}
