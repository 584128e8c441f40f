package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// killAfter is how long a child that was asked to end may take.
const killAfter = 30 * time.Second

// child is a process of ours.
type child struct {
	name    string
	cmd     *exec.Cmd
	logFile string
	lines   chan string   // what it says on stdout, up to a few lines
	done    chan struct{} // closed when it has ended and its code is known
	code    int           // -1: by a signal
}

// startChild starts a program whose log (stderr) goes to a file in dir.
func startChild(dir string, argv ...string) (*child, error) {
	name := filepath.Base(argv[0])
	log, err := os.CreateTemp(dir, name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	c := &child{name: name, logFile: log.Name(), lines: make(chan string, 10), done: make(chan struct{})}
	c.cmd = exec.Command(argv[0], argv[1:]...) //nolint:noctx // it is asked to end, and not killed
	c.cmd.Stderr = log
	c.cmd.SysProcAttr = withUs()
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.reap(stdout)
	return c, nil
}

// reap reads all output, since a child must not wait for its reader, and then
// waits for the end.
func (c *child) reap(stdout io.Reader) {
	defer close(c.done)
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		select {
		case c.lines <- scanner.Text():
		default:
		}
	}
	_ = c.cmd.Wait() // The code says it all.
	c.code = c.cmd.ProcessState.ExitCode()
}

// line is the next line that the child says on stdout.
func (c *child) line(ctx context.Context) (string, error) {
	select {
	case line := <-c.lines:
		return line, nil
	case <-c.done:
		return "", fmt.Errorf("%s has ended with code %d:\n%s", c.name, c.code, c.tail(20))
	case <-ctx.Done():
		return "", fmt.Errorf("%s says nothing:\n%s", c.name, c.tail(20))
	}
}

func (c *child) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) } // It may have ended.

// kill is kill -9, and waits for the end.
func (c *child) kill() {
	c.signal(syscall.SIGKILL)
	<-c.done
}

// stop asks the child to end and kills it if it does not.
func (c *child) stop() error {
	c.signal(syscall.SIGTERM)
	timer := time.NewTimer(killAfter)
	defer timer.Stop()
	select {
	case <-c.done:
		return nil
	case <-timer.C:
		c.kill()
		return fmt.Errorf("%s did not end within %v after SIGTERM", c.name, killAfter)
	}
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *child) log() string {
	text, err := os.ReadFile(c.logFile)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// tail is the end of the log, without stacks.
func (c *child) tail(lines int) string {
	var all []string
	for line := range strings.Lines(c.log()) {
		if !strings.HasPrefix(line, "\t") {
			all = append(all, line)
		}
	}
	return strings.Join(all[max(len(all)-lines, 0):], "")
}

// output runs a program to its end.
func output(ctx context.Context, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: %w", strings.Join(argv, " "), err), errors.New(stderr.String()))
	}
	return string(out), err
}
