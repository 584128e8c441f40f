package conformance

import (
	"net/netip"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// firstEphemeral is the first port that Linux may choose by default for a listener
// that names no port.
const firstEphemeral = 32768

// listeners returns the TCP addresses at which this process listens, except loopback
// addresses and ports that Linux may have chosen.
func listeners() ([]netip.AddrPort, error) {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, err
	}
	var found []netip.AddrPort
	for _, file := range files {
		fd, err := strconv.Atoi(file.Name())
		if err != nil {
			continue
		}
		if listens, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ACCEPTCONN); err != nil || listens == 0 {
			continue
		}
		socket, err := syscall.Getsockname(fd)
		if err != nil {
			continue // it was closed meanwhile
		}
		switch s := socket.(type) {
		case *syscall.SockaddrInet4:
			found = append(found, netip.AddrPortFrom(netip.AddrFrom4(s.Addr), uint16(s.Port))) //nolint:gosec // a port
		case *syscall.SockaddrInet6:
			found = append(found, netip.AddrPortFrom(netip.AddrFrom16(s.Addr).Unmap(), uint16(s.Port))) //nolint:gosec // a port
		}
	}
	return slices.DeleteFunc(found, func(a netip.AddrPort) bool { return a.Addr().IsLoopback() || a.Port() >= firstEphemeral }), nil
}
