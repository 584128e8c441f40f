//go:build !linux

package app

import "syscall"

func withParent() *syscall.SysProcAttr { return nil }
