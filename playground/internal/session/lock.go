package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	temporary = "fairlead-playground-"
	lockFile  = "lock"
)

// lock locks dir against a second playground. The kernel releases the lock when the process ends, even after a crash.
// The process ID stays in the file and shows that the lock was once held.
func lock(dir string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
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

func take(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// sweep removes the temporary folders of playgrounds that were killed. It ignores errors, because a folder that stays
// does no harm.
func sweep(dir string) {
	locks, _ := filepath.Glob(filepath.Join(dir, temporary+"*", lockFile)) // the pattern is valid
	for _, lock := range locks {
		if abandoned(lock) {
			_ = os.RemoveAll(filepath.Dir(lock))
		}
	}
}

// abandoned reports whether a lock was once held and is free now. It returns false for an empty lock file, because
// another process is about to lock that.
func abandoned(lock string) bool {
	file, err := os.Open(lock)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	return err == nil && info.Size() > 0 && take(file) == nil
}
