package process

import "syscall"

// withUs makes a child process end when this process ends, even after a crash.
func withUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
