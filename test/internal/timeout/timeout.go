// Package timeout has timeouts that are extended on a busy machine.
package timeout

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// most is the largest factor by which a timeout is extended.
const most = 4

// Timeout is a time in which something should happen. It is extended while processes have
// to wait for a CPU. Otherwise it would be too short for a busy machine, or too long for
// an idle one. With a long timeout, a test could not see whether a change is noticed at
// once or only by a periodic comparison.
type Timeout struct {
	within, stalledBefore time.Duration
	began                 time.Time
}

// New returns a Timeout that begins now.
func New(within time.Duration) Timeout {
	return Timeout{within: within, stalledBefore: stalled(), began: time.Now()}
}

// IsOver reports whether the time is over.
func (t Timeout) IsOver() bool {
	return time.Since(t.began) > t.extended(stalled()-t.stalledBefore)
}

// extended returns the length of the timeout. The argument stalled is how long processes
// have had to wait for a CPU since the beginning. A second in which processes wait for a
// CPU counts as a quarter of a second.
func (t Timeout) extended(stalled time.Duration) time.Duration {
	return min(t.within+stalled*(most-1)/most, t.within*most)
}

// Closed waits until the channel is closed. It returns false when the time is over.
func Closed(within time.Duration, done <-chan struct{}) bool {
	timeout := New(within)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return true
		case <-tick.C:
			if timeout.IsOver() {
				return false
			}
		}
	}
}

// Factor returns the number by which a bound may be multiplied that was measured on an
// idle machine: 1 if no process had to wait for a CPU in the last minutes, and 4 if
// processes waited all the time.
func Factor() float64 {
	text, err := os.ReadFile("/proc/pressure/cpu")
	if err != nil {
		return 1
	}
	return factor(string(text))
}

// factor uses the largest average of the last 10 seconds, of the last minute and of the
// last five minutes.
func factor(pressure string) float64 {
	share := 0.0
	for line := range strings.Lines(pressure) {
		if !strings.HasPrefix(line, "some ") {
			continue
		}
		for field := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(field, "=")
			if percent, err := strconv.ParseFloat(value, 64); err == nil && strings.HasPrefix(name, "avg") {
				share = max(share, min(percent/100, 1))
			}
		}
	}
	return 1 + (most-1)*share
}

// Extended returns the bound d, multiplied by Factor.
func Extended(d time.Duration) time.Duration { return time.Duration(float64(d) * Factor()) }

// Elapsed returns the time since the beginning.
func (t Timeout) Elapsed() time.Duration { return time.Since(t.began) }

// stalled returns how long, since the machine was started, at least one process has had
// to wait for a CPU. It returns 0 if the kernel does not measure that. See
// Documentation/accounting/psi.rst of Linux.
func stalled() time.Duration {
	text, err := os.ReadFile("/proc/pressure/cpu")
	if err != nil {
		return 0
	}
	return parseStall(string(text))
}

func parseStall(pressure string) time.Duration {
	for line := range strings.Lines(pressure) {
		total, found := "", false
		if strings.HasPrefix(line, "some ") {
			_, total, found = strings.Cut(line, "total=")
		}
		if µs, err := strconv.ParseInt(strings.TrimSpace(total), 10, 64); found && err == nil {
			return time.Duration(µs) * time.Microsecond
		}
	}
	return 0
}
