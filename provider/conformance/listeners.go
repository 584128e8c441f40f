package conformance

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listeners returns the TCP addresses at which this process listens, except loopback
// addresses and ports that Linux may have chosen. The keys are the inodes of the
// sockets. The function works on Linux only.
func listeners() (map[string]netip.AddrPort, error) {
	own, err := ownSockets()
	if err != nil {
		return nil, err
	}
	found := map[string]netip.AddrPort{}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		file, err := os.Open(table) //nolint:gosec // one of the two above
		if errors.Is(err, os.ErrNotExist) && len(found) == 0 && table == "/proc/self/net/tcp6" {
			continue // no IPv6
		}
		if err != nil {
			return nil, err
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if inode, address, ok := listening(lines.Text()); ok && own[inode] && reachable(address) {
				found[inode] = address
			}
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// firstEphemeral is the first port that Linux may choose by default for a listener
// that names no port.
const firstEphemeral = 32768

func reachable(a netip.AddrPort) bool { return !a.Addr().IsLoopback() && a.Port() < firstEphemeral }

// listening reads a line of /proc/net/tcp. It reports whether the line is about a
// listener.
func listening(line string) (inode string, address netip.AddrPort, ok bool) {
	const local, state, node, listens = 1, 3, 9, "0A"
	fields := strings.Fields(line)
	if len(fields) <= node || fields[state] != listens {
		return "", address, false
	}
	ip, port, _ := strings.Cut(fields[local], ":")
	raw, err := hex.DecodeString(ip)
	if err != nil {
		return "", address, false
	}
	for word := range slices.Chunk(raw, 4) { // each word is in the byte order of a little-endian machine
		slices.Reverse(word)
	}
	parsed, valid := netip.AddrFromSlice(raw)
	number, err := strconv.ParseUint(port, 16, 16)
	return fields[node], netip.AddrPortFrom(parsed.Unmap(), uint16(number)), valid && err == nil
}

// ownSockets returns the inodes of the sockets of this process.
func ownSockets() (map[string]bool, error) {
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) == 0 {
		return nil, fmt.Errorf("no /proc/self/fd: %w", errors.ErrUnsupported)
	}
	inodes := map[string]bool{}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil {
			continue // it was closed meanwhile
		}
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			inodes[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return inodes, nil
}
