package e2e

import "syscall"

// withUs makes a child end when this process does, however it ends.
func withUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
