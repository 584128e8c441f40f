package serving

import (
	"net/http"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/utils/clock"
)

const (
	// freshScrapes is the number of answers with metrics under way up to which each one has
	// its own metrics. More of them share those that were gathered within sharedFor. So
	// callers that read no answer hold only few sets of metrics in memory.
	freshScrapes, sharedFor = 4, 10 * time.Second
)

// scrapes serves metrics, and bounds what callers that do not read them can make it keep.
type scrapes struct {
	metrics.Gatherer

	clock   clock.PassiveClock
	handler http.Handler

	gathering sync.Mutex // metrics are gathered for one request at a time; taken before mu
	mu        sync.Mutex
	underWay  int                 // guarded by mu
	newest    []*dto.MetricFamily // guarded by mu
	at        time.Time           // when they were gathered; guarded by mu
}

func newScrapes(of metrics.Gatherer, c clock.PassiveClock) *scrapes {
	s := &scrapes{Gatherer: of, clock: c}
	// A compressed answer keeps most of a megabyte until it is read.
	s.handler = metrics.HandlerFor(s, metrics.HandlerOpts{ProcessStartTime: legacyregistry.GetProcessStart(), DisableCompression: true})
	return s
}

// ServeHTTP implements http.Handler.
func (s *scrapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.count(1)
	defer s.count(-1)
	s.handler.ServeHTTP(w, r)
}

func (s *scrapes) count(change int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.underWay += change; s.underWay == 0 {
		s.newest = nil
	}
}

// Gather implements metrics.Gatherer. The caller must not change the result.
func (s *scrapes) Gather() ([]*dto.MetricFamily, error) {
	s.gathering.Lock()
	defer s.gathering.Unlock()
	if shared := s.shared(); shared != nil {
		return shared, nil
	}
	began := s.clock.Now()
	families, err := s.Gatherer.Gather()
	if err != nil {
		return families, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest, s.at = families, began
	return families, nil
}

// shared returns the metrics that this answer shares with others, or nil.
func (s *scrapes) shared() []*dto.MetricFamily {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.underWay <= freshScrapes || s.clock.Since(s.at) >= sharedFor {
		return nil
	}
	return s.newest
}
