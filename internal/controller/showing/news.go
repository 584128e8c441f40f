package showing

import "time"

// News has the times of the last events about an object, by reason. The zero value has
// none. The map is never changed, only replaced.
type News map[string]time.Time

// IsNew reports whether an event has to report the reason: none has done so yet, or
// there was no event about the object for RepeatAfter. So reasons that alternate cost
// no more events than a single one.
func (n News) IsNew(reason string, now time.Time) bool {
	return n[reason].IsZero() || !now.Before(n.Next())
}

// Next returns the time at which a reason may be reported again.
func (n News) Next() time.Time {
	var last time.Time
	for _, at := range n {
		if at.After(last) {
			last = at
		}
	}
	return last.Add(RepeatAfter)
}

// With returns the news after an event.
func (n News) With(reason string, at time.Time) News {
	with := News{reason: at}
	for other, before := range n {
		if other != reason {
			with[other] = before
		}
	}
	return with
}
