package app

import "syscall"

// withParent makes a process end when its parent ends, for whatever reason.
func withParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
