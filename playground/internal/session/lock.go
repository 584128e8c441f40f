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
