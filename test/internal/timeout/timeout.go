// Package timeout has timeouts that are extended on a busy machine.
package timeout

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// most is the factor by which a timeout is extended at most.
const most = 4

// Timeout is a time in which something should happen. It is extended while processes
// have to wait for a CPU. Without that, a timeout would be either too short for a busy
// machine, or too long for an idle one: a test could not tell a change that is noticed at
// once from one that only a periodic comparison finds.
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

// extended returns the timeout if processes have been stalled for this long since it
// began. While processes wait for a CPU all the time, a second counts as a quarter.
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

// Elapsed returns the time since the beginning.
func (t Timeout) Elapsed() time.Duration { return time.Since(t.began) }

// stalled returns the time in which at least one process had to wait for a CPU, since the
// machine was started. It returns 0 if the kernel does not measure that. See
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
