// Package progress tells a person, line by line, what has been done and how long it took.
package progress

import (
	"fmt"
	"io"
	"time"

	"k8s.io/utils/clock"
)

// Steps prints one line for each step that is done.
type Steps struct {
	out   io.Writer
	clock clock.PassiveClock
}

// To returns Steps that are printed on out.
func To(out io.Writer, clock clock.PassiveClock) *Steps {
	return &Steps{out: out, clock: clock}
}

// Do runs step and prints, once it has succeeded, what has been reached. A step that fails prints nothing: its error
// says more.
func (s *Steps) Do(reached string, step func() error) error {
	began := s.clock.Now()
	if err := step(); err != nil {
		return err
	}
	s.line(s.clock.Since(began), reached)
	return nil
}

// Note prints something that took no time.
func (s *Steps) Note(format string, args ...any) {
	fmt.Fprintf(s.out, "         %s\n", fmt.Sprintf(format, args...))
}

func (s *Steps) line(took time.Duration, what string) {
	fmt.Fprintf(s.out, "%6.1f s  %s\n", took.Seconds(), what)
}
