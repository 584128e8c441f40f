//go:build !linux

package conformance

import (
	"errors"
	"net/netip"
)

// listeners works on Linux only.
func listeners() ([]netip.AddrPort, error) { return nil, errors.ErrUnsupported }
