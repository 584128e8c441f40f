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

// lock keeps a second playground out of dir. The kernel drops the lock when the process ends, however it ends.
func lock(dir string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() { _ = file.Close() }, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("another playground runs on %s", dir)
	}
	return nil, fmt.Errorf("lock %s: %w", dir, err)
}
