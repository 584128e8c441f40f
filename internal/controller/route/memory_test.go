package route

import (
	"net/netip"
	"testing"
	"time"
)

func TestOldestFailure(t *testing.T) {
	m := newMemory()
	if got := m.oldestFailure(); !got.IsZero() {
		t.Errorf("without failures: %v, want zero", got)
	}
	for i, since := range []time.Time{at(20), at(10), at(30)} {
		m.failures[netip.PrefixFrom(pods.Addr(), 20+i)] = failure{since: since}
	}
	if got := m.oldestFailure(); got != at(10) {
		t.Errorf("got %v, want %v", got, at(10))
	}
}
