package provider

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// trialVariable is the environment variable of a trial: a process that makes the
// provider, prints an answer, and ends. Its value is a key. The line of the answer
// begins with this key.
const trialVariable = "FAIRLEAD_TRY_PROVIDER"

// Self has the path and the arguments with which this program was started. The zero
// value stands for a program that cannot be started again.
type Self struct {
	Path string // of the binary; "" if the program cannot be started again
	Args []string
	key  string // of the answer that another process waits for
}

// NewSelf returns the Self of this process. It removes trialVariable from the
// environment, so that no child process of a provider gets the variable.
func NewSelf() Self {
	s := Self{Args: os.Args, key: os.Getenv(trialVariable)}
	_ = os.Unsetenv(trialVariable) // its name is valid
	s.Path, _ = os.Executable()    // without a path there is no trial
	return s
}

// Tries reports whether this process is a trial: another process has started it to
// find out whether the provider can be made.
func (s Self) Tries() bool { return s.key != "" }

// Answer returns the line that tells the waiting process whether the provider was
// made. This process must print the line to its standard output at the end.
func (s Self) Answer(err error) string {
	if err == nil {
		return s.key + " made"
	}
	return s.key + " " + strconv.Quote(err.Error())
}

// try makes the provider in a separate process. The error says why the answer
// is not accepted.
func (s Self) try(ctx context.Context) (answer, error) {
	if s.Path == "" {
		return unable, errors.New("this program cannot be started again")
	}
	key := rand.Text()
	var out, log tail
	c := exec.CommandContext(ctx, s.Path, s.Args[1:]...) //nolint:gosec // the program itself
	c.Env = append(os.Environ(), trialVariable+"="+key)
	c.Stdout, c.Stderr, c.WaitDelay = &out, &log, time.Second
	if err := c.Start(); err != nil {
		return unable, fmt.Errorf("a separate process cannot be started: %w", err)
	}
	err := c.Wait()
	said, ok := answerIn(out.String(), key)
	switch {
	case said == "made":
		return accepted, nil
	case ok:
		text, _ := strconv.Unquote(said) // Answer has quoted it.
		return rejected, errors.New(text)
	case ctx.Err() != nil:
		return rejected, fmt.Errorf("a separate process has not made the provider: %w", ctx.Err())
	case err == nil:
		return rejected, fmt.Errorf("a separate process ended with exit status 0 and without an answer; its last lines: %s", log.String())
	default:
		return rejected, fmt.Errorf("a separate process ended without an answer: %w; its last lines: %s", err, log.String())
	}
}

// answerIn returns the text after the key in the line that begins with the key.
func answerIn(output, key string) (string, bool) {
	for line := range strings.Lines(output) {
		if said, ok := strings.CutPrefix(line, key+" "); ok {
			return strings.TrimSpace(said), true
		}
	}
	return "", false
}

// tail is a writer that keeps the last maxTail bytes.
type tail struct {
	mu   sync.Mutex
	text []byte // guarded by mu
}

// maxTail is enough for the answer and for the last lines of a log.
const maxTail = 8 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(p), nil
}

// String returns the bytes that tail has kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
