//go:build !linux

package process

import "syscall"

// withUs is for Linux, where the control plane runs.
func withUs() *syscall.SysProcAttr { return nil }
