// Package supervisor runs child processes, which never outlive the supervisor. It keeps their logs,
// and stops and starts children on request. It reports a child that ends without a request.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
)

var (
	// ErrUnknown means that there is no child with this name.
	ErrUnknown = errors.New("no such child")
	// ErrRunning means that a child cannot be started because it runs.
	ErrRunning = errors.New("is already running")
	// ErrClosed means that a child cannot be started after Close.
	ErrClosed = errors.New("the supervisor has ended")
)

// Spec says how to run a child.
type Spec struct {
	// Name is the name of the child and of its log.
	Name string
	// Command is the executable and its arguments.
	Command []string
	// Dir is the working directory; empty means the working directory of the
	// supervisor.
	Dir string
	// Env is added to the supervisor's environment.
	Env []string
}

// Status describes a child.
type Status struct {
	Name string `json:"name"`
	// PID is 0 while the child is stopped.
	PID int    `json:"pid,omitempty"`
	Log string `json:"log"`
}

// Supervisor owns children.
type Supervisor struct {
	logs     string
	died     func(error)
	launcher *launcher
	reapers  sync.WaitGroup

	mu       sync.Mutex
	closed   bool              // guarded by mu
	order    []string          // guarded by mu; the children's names, oldest first
	children map[string]*child // guarded by mu
}

type child struct {
	spec    Spec
	log     string
	process *os.Process   // nil while stopped
	reaped  chan struct{} // closed when the most recently started process has ended
	wanted  bool          // false from the moment that the child is asked to end
}

// New returns a supervisor that keeps the logs of its children in the folder logs. If a child ends
// without a request, the supervisor calls died, in any goroutine.
func New(logs string, died func(error)) *Supervisor {
	return &Supervisor{logs: logs, died: died, launcher: newLauncher(), children: map[string]*child{}}
}

// Start starts a child. If a child with that name runs, Start fails with ErrRunning. If a log
// with that name exists, the child appends to it.
func (s *Supervisor) Start(spec Spec) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.children[spec.Name]
	if c == nil {
		c = &child{log: s.LogOf(spec.Name)}
		s.children[spec.Name] = c
		s.order = append(s.order, spec.Name)
	}
	if c.process != nil {
		return fmt.Errorf("%s: %w", spec.Name, ErrRunning)
	}
	c.spec = spec
	return s.launchLocked(c)
}

// Resume starts a stopped child with the Spec of its last start.
func (s *Supervisor) Resume(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.children[name]
	switch {
	case c == nil:
		return fmt.Errorf("%s: %w", name, ErrUnknown)
	case c.process != nil:
		return fmt.Errorf("%s: %w", name, ErrRunning)
	}
	return s.launchLocked(c)
}

// Stop sends a signal to a child, and returns when the child's process is gone. If ctx ends
// first, the child is killed. Stopping a stopped child is not an error.
func (s *Supervisor) Stop(ctx context.Context, name string, signal syscall.Signal) error {
	s.mu.Lock()
	c := s.children[name]
	if c == nil {
		s.mu.Unlock()
		return fmt.Errorf("%s: %w", name, ErrUnknown)
	}
	process, reaped := c.process, c.reaped
	c.wanted = false
	s.mu.Unlock()
	if process == nil {
		return nil
	}
	// Signal fails only if the process has just ended by itself, so its error does not
	// matter.
	_ = process.Signal(signal)
	select {
	case <-reaped:
	case <-ctx.Done():
		_ = process.Kill()
		<-reaped
	}
	return nil
}

// Forget kills a child and removes it from the list.
func (s *Supervisor) Forget(ctx context.Context, name string) error {
	if err := s.Stop(ctx, name, syscall.SIGKILL); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.children, name)
	s.order = slices.DeleteFunc(s.order, func(n string) bool { return n == name })
	return nil
}

// List returns the children in the order in which they were first started.
func (s *Supervisor) List() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Status, 0, len(s.order))
	for _, name := range s.order {
		c := s.children[name]
		status := Status{Name: name, Log: c.log}
		if c.process != nil {
			status.PID = c.process.Pid
		}
		list = append(list, status)
	}
	return list
}

// LogOf returns the path of the log with that name.
func (s *Supervisor) LogOf(name string) string {
	return filepath.Join(s.logs, name+".log")
}

// LogTail returns the end of a child's log.
func (s *Supervisor) LogTail(name string) string {
	return tail(s.LogOf(name))
}

// Close kills all children, and returns when they have ended. It sends SIGKILL at once, because the
// children's data must survive a kill at any moment anyway. Close may be called more than once.
func (s *Supervisor) Close() {
	s.mu.Lock()
	s.closed = true
	for _, c := range s.children {
		c.wanted = false
		if c.process != nil {
			_ = c.process.Kill()
		}
	}
	s.mu.Unlock()
	s.reapers.Wait()
	s.launcher.stop()
}

func (s *Supervisor) launchLocked(c *child) error {
	if s.closed {
		return fmt.Errorf("%s: %w", c.spec.Name, ErrClosed)
	}
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log of %s: %w", c.spec.Name, err)
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	// The command has no context, because only Stop and Close may end a child. So the supervisor knows
	// whether the end of a child was requested.
	cmd := exec.Command(c.spec.Command[0], c.spec.Command[1:]...) //nolint:noctx // see above
	cmd.Dir = c.spec.Dir
	cmd.Env = append(os.Environ(), c.spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := s.launcher.start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", c.spec.Name, err)
	}
	c.process, c.reaped, c.wanted = cmd.Process, make(chan struct{}), true
	s.reapers.Go(func() { s.reap(c, cmd) })
	return nil
}

func (s *Supervisor) reap(c *child, cmd *exec.Cmd) {
	err := cmd.Wait()
	s.mu.Lock()
	died := c.wanted
	c.process = nil
	close(c.reaped)
	s.mu.Unlock()
	if died {
		s.died(&Death{Name: c.spec.Name, Cause: err, Log: c.log, Tail: tail(c.log)})
	}
}

// Death is the error of a child that ended without a request. It contains the end of the child's log.
type Death struct {
	Name  string
	Cause error
	Log   string
	Tail  string
}

// Error names the child and the cause in its first line. The end of the child's log follows,
// indented.
func (d *Death) Error() string {
	how := "ended by itself"
	if d.Cause != nil {
		how = "died: " + d.Cause.Error()
	}
	return fmt.Sprintf("%s %s\nthe end of %s:\n%s", d.Name, how, d.Log, indent(d.Tail))
}

// Unwrap returns the cause.
func (d *Death) Unwrap() error { return d.Cause }

func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}

const (
	tailBytes = 16 << 10
	tailLines = 20
)

// tail returns the last lines of a log. If the log cannot be read, tail returns the text of the
// error instead. It does not return an error, because the caller is about to report a more
// important one.
func tail(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		_, _ = f.Seek(-tailBytes, io.SeekEnd) // an error does not matter: then the whole file is read
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return lastLines(string(text), tailLines)
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// launcher starts processes that are killed when this process ends, even after a crash.
//
// The kernel sends the parent-death signal when the thread that started a child ends, not when the
// process ends. So all children are started from one goroutine that keeps its thread until the
// supervisor ends.
type launcher struct {
	requests chan launch
	done     chan struct{}
	once     sync.Once
}

type launch struct {
	cmd    *exec.Cmd
	result chan<- error
}

func newLauncher() *launcher {
	l := &launcher{requests: make(chan launch), done: make(chan struct{})}
	go l.run()
	return l
}

func (l *launcher) run() {
	defer close(l.done)
	runtime.LockOSThread()
	for r := range l.requests {
		r.result <- r.cmd.Start()
	}
}

// start starts cmd in its own process group, so that Ctrl-C interrupts only the supervisor.
func (l *launcher) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	result := make(chan error)
	l.requests <- launch{cmd: cmd, result: result}
	return <-result
}

// stop ends the thread that has started the children. The kernel then kills all
// children that still run.
func (l *launcher) stop() {
	l.once.Do(func() { close(l.requests) })
	<-l.done
}
