package volume

import (
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

const (
	// firstPause and longestPause are the bounds of the pause before the cloud is
	// asked again about a volume. They do not apply if the cloud itself names a
	// pause. Most failures last until somebody changes something, so the cloud need
	// not be asked often.
	firstPause   = time.Second
	longestPause = 15 * time.Minute
	// slowPause is the pause before the cloud is asked again if a call is still under
	// way. The gateway keeps the late answer for two minutes, so the next question
	// finds it.
	slowPause = 30 * time.Second
)

// hold returns the plan for a volume that cannot be labelled now. The plan has the
// cause, and the time of the next attempt.
func hold(o observed, m memory, h held) plan {
	after := h.pause
	switch {
	case after > 0:
	case h.slow:
		after = slowPause
	default:
		m.failures++
		after = showing.Pause(m.failures, firstPause, longestPause)
	}
	m.until, m.reason, m.why = o.now.Add(after), h.event.Reason, h.event.Message
	p := plan{do: wait, why: h.event.Message, after: after}
	if m.recorded.IsNew(h.event.Reason, o.now) {
		m.recorded = m.recorded.With(h.event.Reason, o.now)
		p.event = &h.event
	}
	p.memory = m
	return p
}

// pause returns the time to wait before the cloud is asked, and the reason for the
// wait. It returns 0 if the cloud can be asked now.
func (m memory) pause(now time.Time) (after time.Duration, why string) {
	if after := m.until.Sub(now); after > 0 {
		return after, m.why
	}
	if after := m.written.Add(showing.PutBackAfter).Sub(now); !m.written.IsZero() && after > 0 {
		return after, "somebody has removed the labels, and it is too early to write them again"
	}
	return 0, ""
}
