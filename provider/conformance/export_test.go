package conformance

import (
	"context"
	"os/exec"
)

// WrongAddress and NamesInstance judge what a provider answers.
var (
	WrongAddress  = wrongAddress
	NamesInstance = namesInstance
)

// Settling is the time that goroutines of a provider get after New.
const Settling = settling

// RunSuite runs the suite outside of go test. The function child returns a command that starts
// the test program again.
func RunSuite(ctx context.Context, target Target, options Options, child func(context.Context) *exec.Cmd) (*Report, error) {
	s, err := newSuite(target, options, child)
	if err != nil {
		return nil, err
	}
	defer s.close()
	for _, check := range s.checks {
		if _, err := s.run(ctx, check); err != nil {
			return nil, err
		}
	}
	return s.report(), nil
}
