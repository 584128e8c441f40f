package traffic

import (
	"net/netip"
	"testing"
	"time"
)

// cutLink is a link that knows whether it was cut.
type cutLink struct{ wasCut bool }

func (l *cutLink) cut() { l.wasCut = true }

// A connection that is being opened when its backend is removed is given up, or
// held before set returns.
func TestSetWaitsForConnectionsThatAreBeingOpened(t *testing.T) {
	p := newPool(newPlane(t, Config{}), newStickiness(newPlane(t, Config{}).clock))
	client := netip.MustParseAddr("192.0.2.1")
	p.set(nil, []membership{{place: place{backend: "a"}, tally: &tally{}}}, 0)
	m, stay := p.pick(client, nil)
	if m == nil {
		t.Fatal("nobody was picked")
	}
	removed := make(chan struct{})
	go func() {
		p.set(nil, nil, 0)
		close(removed)
	}()
	<-stay.Done() // whoever dials is told to stop
	if next, _ := p.pick(client, nil); next != nil {
		t.Error("a backend that was removed was picked")
	}
	select {
	case <-removed:
		t.Error("set returned although a connection was still being opened")
	case <-time.After(10 * time.Millisecond):
	}
	var held cutLink
	if !m.admit(&held) {
		t.Error("a connection that was opened in time was not admitted")
	}
	m.dials.Done()
	<-removed
	if !held.wasCut {
		t.Error("without a drain it must be cut")
	}
	if m.admit(&cutLink{}) {
		t.Error("a member that has ended has admitted a connection")
	}
}
