package app

import "syscall"

// withParent returns attributes of a process. The kernel kills that process when its
// parent ends for any reason.
func withParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
