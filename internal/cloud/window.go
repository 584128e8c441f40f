package cloud

import "time"

// window counts the calls in the current second and in the second before.
type window struct {
	start           time.Time
	current, before int
}

func (w *window) add(now time.Time) {
	w.roll(now)
	w.current++
}

// rate returns the larger of the two counts, because the current second might
// have just begun.
func (w *window) rate(now time.Time) float64 {
	w.roll(now)
	return float64(max(w.current, w.before, 1))
}

func (w *window) roll(now time.Time) {
	switch age := now.Sub(w.start); {
	case age < time.Second:
	case age < 2*time.Second:
		*w = window{start: w.start.Add(time.Second), before: w.current}
	default:
		*w = window{start: now}
	}
}
