//go:build !linux

package e2e

import "syscall"

// withUs is for Linux, where all of these tests run.
func withUs() *syscall.SysProcAttr { return nil }
