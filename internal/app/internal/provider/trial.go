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

// trialVariable is set in a process that makes the provider, answers, and ends.
// Its value is the key with which the answer begins.
const trialVariable = "FAIRLEAD_TRY_PROVIDER"

// Self is how the program was started. The zero value is a program that cannot
// be started again.
type Self struct {
	Path string // of its binary; "" if it cannot be started again
	Args []string
	key  string // of the answer that another process waits for
}

// NewSelf returns how this process was started. It takes the variable of a trial
// out of the environment, so that no program that a provider starts gets it.
func NewSelf() Self {
	s := Self{Args: os.Args, key: os.Getenv(trialVariable)}
	_ = os.Unsetenv(trialVariable) // its name is valid
	s.Path, _ = os.Executable()    // without a path there is no trial
	return s
}

// Tries reports whether another process has started this one only to find out
// whether the provider can be made.
func (s Self) Tries() bool { return s.key != "" }

// Answer returns the line that tells the waiting process what became of the provider.
// This process has to print it on its standard output, at the end.
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
	default:
		return rejected, fmt.Errorf("a separate process ended without an answer: %w; its last lines: %s", err, log.String())
	}
}

// answerIn returns what follows the key in the line that begins with it.
func answerIn(output, key string) (string, bool) {
	for line := range strings.Lines(output) {
		if said, ok := strings.CutPrefix(line, key+" "); ok {
			return strings.TrimSpace(said), true
		}
	}
	return "", false
}

// tail keeps the end of what is written to it.
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

// String returns what has been kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
