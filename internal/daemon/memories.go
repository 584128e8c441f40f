package daemon

import (
	"slices"
	"sync"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// recaller is a controller that can show its memory of an object: what it remembers
// about the object from earlier passes.
type recaller interface {
	// Recall returns the controller's memory of an object, and whether there is one.
	// It does no I/O and changes nothing. It may be called while the controller
	// runs.
	Recall(key string) (step.Memory, bool)
}

// memories gives access to what the controllers in this process remember about
// objects. The zero value has no controllers.
type memories struct {
	mu      sync.Mutex
	running []running // guarded by mu
}

type running struct {
	registration
	recaller
}

// add adds a controller if it is a recaller. The returned function removes the
// controller again.
func (m *memories) add(s started) (remove func()) {
	c, ok := s.controller.(watched)
	if !ok {
		return func() {}
	}
	r, ok := c.Worker.(recaller)
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

// of returns each controller's memory of an object. This method has the type
// serving.Objects.
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
