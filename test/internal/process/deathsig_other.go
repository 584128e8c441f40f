//go:build !linux

package process

import "syscall"

// withUs has an effect only on Linux, the only system on which the control plane
// runs.
func withUs() *syscall.SysProcAttr { return nil }
