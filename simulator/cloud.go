package simulator

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// DefaultPageSize is how many items a page of a list has at most.
const DefaultPageSize = 100

// Config is how a cloud behaves; the zero value is a cloud without any trouble.
type Config struct {
	// Clock is the real one if nil.
	Clock clock.Clock
	// Seed makes all that is random the same again: the same calls in the same
	// order meet the same faults.
	Seed uint64
	// StateFile keeps the resources across restarts; empty keeps them in memory.
	StateFile string
	// PageSize is the default and the maximum size of a page; 0 means
	// DefaultPageSize.
	PageSize int
	// Transition is how long an instance is pending and stopping.
	Transition time.Duration
	// TerminatedFor is how long a terminated instance is still listed.
	TerminatedFor time.Duration
	// Standing are faults that belong to this cloud, such as its quota: they are
	// not listed and cannot be cleared.
	Standing []Fault
}

// Cloud is a simulated cloud. It is an http.Handler.
type Cloud struct {
	clock    clock.Clock
	pageSize int
	pace     pace
	file     stateFile
	faults   *faults
	meter    *meter
	handler  http.Handler

	mu           sync.Mutex
	instances    *table[machine] // guarded by mu
	lastInstance int             // guarded by mu
	nextMove     time.Time       // guarded by mu; when an instance next changes by itself
}

// New returns a cloud with what its state file holds.
func New(config Config) (*Cloud, error) {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.PageSize == 0 {
		config.PageSize = DefaultPageSize
	}
	switch {
	case config.PageSize < 0:
		return nil, fmt.Errorf("page size %d must be positive", config.PageSize)
	case config.Transition < 0 || config.TerminatedFor < 0:
		return nil, errors.New("an instance cannot change in the past: durations must not be negative")
	}
	c := &Cloud{
		clock:     config.Clock,
		pageSize:  config.PageSize,
		pace:      pace{transition: config.Transition, terminated: config.TerminatedFor},
		file:      stateFile{path: config.StateFile},
		faults:    newFaults(config.Seed),
		meter:     newMeter(),
		instances: newTable[machine](),
	}
	for _, f := range config.Standing {
		if err := c.faults.set(f, standing); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	saved, err := c.file.load()
	if err != nil {
		return nil, err
	}
	if saved != nil {
		if err := c.restore(saved); err != nil {
			return nil, c.file.broken(err)
		}
	}
	c.handler = c.newHandler()
	return c, nil
}

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// restore takes what was saved, unless it could not have been saved.
func (c *Cloud) restore(saved *savedState) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.restoreInstances(saved)
}

// commit makes a replacement durable before anybody sees it; if that cannot be
// done, nothing has changed. c.mu is held.
func commit[T any](c *Cloud, now time.Time, t *table[T], id string, row *T) error {
	before := t.row(id)
	t.replace(id, row)
	if err := c.file.save(c.saved()); err != nil {
		t.replace(id, before)
		return err
	}
	t.remember(now, id, before)
	return nil
}

func (c *Cloud) saved() savedState {
	return savedState{Version: stateVersion, LastInstance: c.lastInstance, Instances: c.instances.all()}
}
