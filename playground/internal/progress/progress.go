// Package progress prints a line for each step that is done, with the duration of
// the step.
package progress

import (
	"fmt"
	"io"
	"sync"

	"k8s.io/utils/clock"
)

// Steps prints one line for each step that is done.
type Steps struct {
	clock clock.PassiveClock

	mu  sync.Mutex
	out io.Writer // guarded by mu
}

// To returns Steps that print to out.
func To(out io.Writer, clock clock.PassiveClock) *Steps {
	return &Steps{out: out, clock: clock}
}

// Do calls the function. If the function succeeds, Do prints the text. If it fails, Do
// prints nothing, because the caller reports the error.
func (s *Steps) Do(reached string, step func() error) error {
	return s.Find(func() (string, error) { return reached, step() })
}

// Find is like Do, but the step itself returns the text to print.
func (s *Steps) Find(step func() (reached string, err error)) error {
	began := s.clock.Now()
	reached, err := step()
	if err != nil {
		return err
	}
	s.print(fmt.Sprintf("%6.1f s", s.clock.Since(began).Seconds()), reached)
	return nil
}

// Note prints a line without a duration.
func (s *Steps) Note(format string, args ...any) {
	s.print("", fmt.Sprintf(format, args...))
}

func (s *Steps) print(took, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintf(s.out, "%8s  %s\n", took, what)
}
