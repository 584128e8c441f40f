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
	"syscall"

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

const (
	temporary = "fairlead-playground-"
	lockFile  = "lock"
)

// lock locks dir against a second playground. The kernel releases the lock when the process ends,
// even after a crash. The process ID stays in the file. It shows later that the lock was once held.
func lock(dir string) (unlock func(), err error) {
	file, err := openLock(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := take(file); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another playground runs on %s", dir)
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if _, err := fmt.Fprintf(file, "%d\n", os.Getpid()); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { _ = file.Close() }, nil
}

// openLock opens a lock file. Other users share the temporary folder, and can put anything in
// place of the file. openLock refuses everything except a regular file of this user: a pipe would
// make the call wait forever, and a link would lead to another file.
func openLock(name string, flags int) (*os.File, error) {
	file, err := os.OpenFile(name, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	var stat syscall.Stat_t
	err = syscall.Fstat(int(file.Fd()), &stat)
	switch {
	case err != nil:
	case stat.Mode&syscall.S_IFMT != syscall.S_IFREG:
		err = fmt.Errorf("%s is not a regular file; remove it", name)
	case int(stat.Uid) != os.Getuid():
		err = fmt.Errorf("%s belongs to user %d; remove it, or choose another folder", name, stat.Uid)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func take(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// sweep removes the temporary folders of playgrounds that were killed. It ignores errors, because a
// remaining folder does no harm.
func sweep(dir string) {
	locks, _ := filepath.Glob(filepath.Join(dir, temporary+"*", lockFile)) // the pattern is valid
	for _, lock := range locks {
		if abandoned(lock) {
			_ = os.RemoveAll(filepath.Dir(lock))
		}
	}
}

// abandoned reports whether a lock was once held and is free now. It returns false for an empty
// lock file, because another process is about to lock that file.
func abandoned(lock string) bool {
	file, err := openLock(lock, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	return err == nil && info.Size() > 0 && take(file) == nil
}
