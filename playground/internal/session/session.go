// Package session manages one run of the playground with one data folder. A session owns the
// folder and the children. The session ends when a child dies. No child outlives the session.
package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/fairlead-k8s/fairlead/playground/internal/control"
	"github.com/fairlead-k8s/fairlead/playground/internal/supervisor"
)

// Session is a running playground.
type Session struct {
	// DataDir is the folder of all files. LogDir is its subfolder for the logs of the children.
	DataDir, LogDir string
	// Children are the processes of the session.
	Children *supervisor.Supervisor

	work sync.WaitGroup
	fail context.CancelCauseFunc
}

// Run creates a session in dataDir and calls body with it. If dataDir is empty, it uses a temporary
// folder. The context of body ends when ctx ends, when a child dies, or when a function that body
// has passed to Session.Go fails. When body returns, Run kills all children. If the folder is
// temporary, Run also removes it.
func Run(ctx context.Context, dataDir string, body func(context.Context, *Session) error) (err error) {
	dir, remove, err := folder(dataDir)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	unlock, err := lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	logs := filepath.Join(dir, "logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	door, err := control.Listen(ctx, dir)
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	s := &Session{DataDir: dir, LogDir: logs, Children: supervisor.New(logs, fail), fail: fail}
	s.Go(func() error { return control.Serve(ctx, door, s.Children) })
	err = body(ctx, s)
	// If a child has died, its death is the cause of all other errors.
	var death *supervisor.Death
	if errors.As(context.Cause(ctx), &death) && !errors.As(err, new(*supervisor.Death)) {
		err = errors.Join(death, err)
	}
	fail(nil)
	s.Children.Close()
	s.work.Wait()
	return err
}

// Go calls a function in a new goroutine. If the function returns an error, the session ends.
// The session waits until the function has returned.
func (s *Session) Go(work func() error) {
	s.work.Go(func() {
		if err := work(); err != nil {
			s.fail(err)
		}
	})
}

// Logged returns a function that does the work with a logger in its context. The logger
// writes to the log with the given name, in the folder of the children's logs.
func (s *Session) Logged(name string, work func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		log, err := os.OpenFile(s.Children.LogOf(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("log of %s: %w", name, err)
		}
		logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log)))
		return errors.Join(work(klog.NewContext(ctx, logger)), log.Close())
	}
}

// folder returns the absolute path of the data folder, and a function that removes it if it is temporary.
func folder(dataDir string) (dir string, remove func() error, err error) {
	if dataDir == "" {
		sweep(os.TempDir())
		dir, err = os.MkdirTemp("", temporary)
		return dir, func() error { return os.RemoveAll(dir) }, err
	}
	dir, err = filepath.Abs(dataDir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	return dir, func() error { return nil }, err
}
