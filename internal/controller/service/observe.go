package service

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/waiting"
)

// observe gathers the known facts about a Service. It does no I/O: the Service comes
// from the informer, and everything else from memory.
func (c *Controller) observe(key string) (observed, error) {
	o := observed{now: c.clock.Now(), policy: c.policy}
	service, err := c.deps.Services.Cached(key)
	switch {
	case err == nil:
		o.service = service
	case !apierrors.IsNotFound(err):
		return observed{}, err
	}
	o.usable = len(c.backends.newest().nodes)
	if service != nil && !c.policy.isLeft(service) {
		o.seat = c.backends.of(service)
	}
	o.backends, o.hosts = o.seat.set.id, len(o.seat.set.nodes)
	c.store.recall(key, &o)
	return o, nil
}

// queuedReason is the reason of a Service with the event LoadBalancerQueued, in the
// gauge of waiting Services.
const queuedReason = "Queued"

// store has the memory between passes, and reports the waiting Services to the
// gauges.
type store struct {
	waiting *waiting.Gauges

	mu       sync.Mutex
	memories map[string]memory       // by key; guarded by mu
	foreign  map[string]types.UID    // see Policy.foreignAfter, by key; guarded by mu
	shown    map[string]shownAddress // the last address that a Service of ours has shown, by key; guarded by mu
	queued   map[string]time.Time    // the times at which Services began to wait behind others, by key; guarded by mu
	// elsewhere is the last known result of providedElsewhere; guarded by mu
	elsewhere bool
}

func newStore(gauges *waiting.Gauges) *store {
	return &store{
		waiting:  gauges,
		memories: map[string]memory{},
		foreign:  map[string]types.UID{},
		shown:    map[string]shownAddress{},
		queued:   map[string]time.Time{},
	}
}

// recall adds the memory of a Service to the observation.
func (s *store) recall(key string, o *observed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.memory, o.shown, o.elsewhere = s.memories[key], s.shown[key], s.elsewhere
	o.foreign = o.service != nil && s.foreign[key] == o.service.UID
	o.jitter = float64(mix(hashOf(string(o.memory.uid)))) / (1 << 64)
}

// memory returns the memory of a Service.
func (s *store) memory(key string) memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memories[key]
}

// outdated returns the keys of the Services whose load balancers may have other nodes
// than this set. It leaves out Services whose last call has failed.
func (s *store) outdated(set string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key, m := range s.memories {
		if m.shape != "" && m.backends != set && m.failure.attempts == 0 && !m.elsewhere {
			keys = append(keys, key)
		}
	}
	return keys
}

// remember replaces the memory of a Service. After that, the Service does not count
// as queued.
func (s *store) remember(key string, m memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.queued, key)
	s.memories[key] = m
	if m.isEmpty() && m.edits.uid == "" {
		delete(s.memories, key)
	}
	s.report(key)
}

// forget drops the memory of a Service. If the Service still exists, the allowance for
// its edits is kept.
func (s *store) forget(key string, exists bool) { //nolint:revive // flag-parameter: it is a fact
	s.mu.Lock()
	defer s.mu.Unlock()
	if uid := s.memories[key].uid; uid == "" || uid == s.shown[key].uid { // The address of a newer Service with this name stays.
		delete(s.shown, key)
	}
	kept := memory{edits: s.memories[key].edits}
	delete(s.memories, key)
	if exists && kept.edits.uid != "" {
		s.memories[key] = kept
	}
	delete(s.queued, key)
	s.report(key)
}

// note records whether a Service belongs to another class. For a Service that is or was
// served here, it also records the shown address. A nil Service no longer exists.
func (s *store) note(key string, service *corev1.Service, p Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if service == nil {
		delete(s.foreign, key)
		return
	}
	if s.foreign[key] = p.foreignAfter(s.foreign[key], service); s.foreign[key] == "" {
		delete(s.foreign, key)
	}
	isKnown := (p.isOurs(service) || p.isRetired(ownerOf(service))) && !p.isForeign(service)
	if isKnown && len(service.Status.LoadBalancer.Ingress) > 0 {
		s.shown[key] = shownAddress{service.UID, service.Status.LoadBalancer}
	}
}

// noteProvider records whether somebody else provides load balancers, if the call shows
// it.
func (s *store) noteProvider(p plan, r outcome, m memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is, known := providedElsewhere(p, r, m); known {
		s.elsewhere = is
	}
}

// isQueued reports whether an event has said that the Service waits behind others.
func (s *store) isQueued(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.queued[key]
	return ok
}

// noteQueued replaces the Services that wait behind others. The map has the times at
// which they began to wait, by key.
func (s *store) noteQueued(since map[string]time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.queued
	s.queued = since
	for _, keys := range []map[string]time.Time{before, since} {
		for key := range keys {
			s.report(key)
		}
	}
}

// report tells the gauges whether a Service waits. The caller holds mu.
func (s *store) report(key string) {
	f := s.memories[key].failure
	since, queued := s.queued[key]
	switch {
	case f.attempts > 0:
		s.waiting.Set(key, f.cause.Reason, f.since)
	case queued:
		s.waiting.Set(key, queuedReason, since)
	default:
		s.waiting.Delete(key)
	}
}
