package inspect

import "errors"

// The exit codes of the commands.
const (
	// Failed is the exit code after an error, or after a finding of level error.
	Failed = 1
	// Warned is the exit code with --strict after a finding of level warning.
	Warned = 2
	// CannotLook is the exit code if the cluster could not be read.
	CannotLook = 3
)

// exit is an error with an exit code.
type exit struct {
	error
	code int
}

func (e exit) Unwrap() error { return e.error }

// errSaid is used if the output has already explained the problem. Its text is empty.
var errSaid = errors.New("")

// Exit returns an error that ends the program with the code. A nil err means that the
// output has already explained the problem.
func Exit(code int, err error) error {
	if err == nil {
		err = errSaid
	}
	return exit{err, code}
}

// Code returns the exit code for the result of a command.
func Code(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[exit](err); ok {
		return e.code
	}
	return Failed
}
