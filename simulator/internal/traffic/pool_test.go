package traffic

import (
	"net/netip"
	"testing"
	"time"
)

// cutLink is a link that records whether it was cut.
type cutLink struct{ wasCut bool }

func (l *cutLink) cut() { l.wasCut = true }

// If a backend is removed while a connection to it is being opened, pool.set waits until
// the attempt has failed or the member has admitted the connection. If the drain time is
// 0, the member does not admit the connection.
func TestSetWaitsForConnectionsThatAreBeingOpened(t *testing.T) {
	for _, drain := range []time.Duration{0, time.Hour} {
		t.Run(drain.String(), func(t *testing.T) { removeWhileOpening(t, drain) })
	}
}

func removeWhileOpening(t *testing.T, drain time.Duration) {
	t.Helper()
	p := newPool(newPlane(t, Config{}), newStickiness(newPlane(t, Config{}).clock))
	client := netip.MustParseAddr("192.0.2.1")
	p.set(nil, []membership{{place: place{backend: "a"}, tally: &tally{}}}, 0)
	m, stay := p.pick(client, nil)
	if m == nil {
		t.Fatal("nobody was picked")
	}
	removed := make(chan struct{})
	go func() {
		p.set(nil, nil, drain)
		close(removed)
	}()
	<-stay.Done() // the dial is canceled
	if next, _ := p.pick(client, nil); next != nil {
		t.Error("a backend that was removed was picked")
	}
	select {
	case <-removed:
		t.Error("set returned although a connection was still being opened")
	case <-time.After(10 * time.Millisecond):
	}
	if drain == 0 { // set refuses further connections only some time after it has canceled the dial
		await(t, "the refusal", func() (string, bool) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return "not there", m.over
		})
	}
	var link cutLink
	diff(t, "a connection that was opened in time is admitted", drain > 0, m.admit(&link))
	m.dials.Done()
	<-removed
	diff(t, "cut", false, link.wasCut)
	p.end()
	diff(t, "a connection that was admitted is cut in the end", drain > 0, link.wasCut)
	if m.admit(&cutLink{}) {
		t.Error("a member that has ended has admitted a connection")
	}
}
