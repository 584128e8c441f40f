package app

import "syscall"

// withParent returns attributes with which a process is killed when its parent ends, for
// whatever reason.
func withParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
