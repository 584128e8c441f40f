package process

import "syscall"

// withUs makes a process end when this one does, however it ends.
func withUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
