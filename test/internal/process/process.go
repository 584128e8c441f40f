// Package process runs the programs of a test or a benchmark, and measures the
// resources that they use.
package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

// killAfter is the time that a process gets to end after a signal.
const killAfter = 30 * time.Second

// Process is a running program. It ends at the latest when the current process ends.
type Process struct {
	name    string
	cmd     *exec.Cmd
	logFile string
	lines   chan string   // the first lines of its stdout
	done    chan struct{} // closed when it has ended and its code is known
	code    int           // -1: a signal ended it
}

// Start starts a program whose log (stderr) goes to a file in dir.
func Start(dir string, argv ...string) (*Process, error) {
	name := filepath.Base(argv[0])
	log, err := os.CreateTemp(dir, name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has its own descriptor
	p := &Process{name: name, logFile: log.Name(), lines: make(chan string, 10), done: make(chan struct{})}
	p.cmd = exec.Command(argv[0], argv[1:]...) //nolint:noctx // a context would kill it without asking it to end
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = withUs()
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.reap(stdout)
	return p, nil
}

// reap reads all output, because the process would block on a full pipe. Then it
// waits for the end of the process.
func (p *Process) reap(stdout io.Reader) {
	defer close(p.done)
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		select {
		case p.lines <- scanner.Text():
		default:
		}
	}
	_ = p.cmd.Wait() // The error adds nothing to the exit code.
	p.code = p.cmd.ProcessState.ExitCode()
}

// Line returns the next line that the process writes to stdout.
func (p *Process) Line(ctx context.Context) (string, error) {
	select {
	case line := <-p.lines:
		return line, nil
	case <-p.done:
		select {
		case line := <-p.lines: // The process has written it just before its end.
			return line, nil
		default:
			return "", p.Err()
		}
	case <-ctx.Done():
		return "", fmt.Errorf("%s says nothing: %w\n%s", p.name, context.Cause(ctx), p.Tail(20))
	}
}

// Err returns an error that says how the process has ended, or nil while it runs.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s has ended with code %d:\n%s", p.name, p.code, p.Tail(20))
	default:
		return nil
	}
}

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool { return p.Err() != nil }

// Code returns the exit code of a process that has ended, or -1 if a signal ended it.
func (p *Process) Code() int { return p.code }

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // An error means that it has ended.

// Kill sends SIGKILL and waits for the end.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// End sends a signal and waits for the end of the process. It kills a process that
// does not end within killAfter.
func (p *Process) End(s syscall.Signal) error {
	p.Signal(s)
	if !timeout.Closed(killAfter, p.done) {
		p.Kill()
		return fmt.Errorf("%s did not end within %v after %v", p.name, killAfter, s)
	}
	return nil
}

// Stop asks the process to end and kills it if it does not.
func (p *Process) Stop() error { return p.End(syscall.SIGTERM) }

// Log returns the log of the process.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.logFile)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Tail returns the last lines of the log, without stack traces.
func (p *Process) Tail(lines int) string {
	var all []string
	for line := range strings.Lines(p.Log()) {
		if !strings.HasPrefix(line, "\t") {
			all = append(all, line)
		}
	}
	return strings.Join(all[max(len(all)-lines, 0):], "")
}
