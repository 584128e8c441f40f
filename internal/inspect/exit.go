package inspect

import "errors"

// The exit codes of the commands.
const (
	// Failed is the code of an error, or of a finding that is an error.
	Failed = 1
	// Warned is the code of a finding that is a warning, if --strict asks for it.
	Warned = 2
	// CannotLook is the code if the cluster could not be looked at.
	CannotLook = 3
)

// exit is an error with an exit code.
type exit struct {
	error
	code int
}

func (e exit) Unwrap() error { return e.error }

// errSaid stands for an error about which the output has said everything. Its text is
// empty.
var errSaid = errors.New("")

// Exit returns an error that ends the program with the code. A nil error means that the
// output has said everything.
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
