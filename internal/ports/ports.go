// Package ports finds loopback ports for servers whose port must be known before they start.
package ports

import (
	"errors"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

// The ports are below 30000. From 32768 on, the kernel gives ports to clients, and Kubernetes uses 30000 to 32767 for
// Services. A server in one of these ranges could find its port taken after a restart. The ports are above 10260, the
// last of the ports on which the components of Kubernetes listen by default. Some components check that their ports
// differ, also from the default of a port that is not used: with --secure-port=10260, the community's skeleton ends.
const (
	first = 10261
	last  = 29999
	tries = 1000
)

// Picker hands out ports. It never hands out the same port twice. On Linux, no other Picker
// of this machine hands it out either, as long as this Picker is reachable. So two programs
// that start at the same time do not choose the same port. The zero value is ready to use.
type Picker struct {
	mu    sync.Mutex
	taken map[int]net.Listener // the reservations, nil where there is none; guarded by mu
}

// Next returns a TCP port of 127.0.0.1 that is free.
func (p *Picker) Next() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken == nil {
		p.taken = map[int]net.Listener{}
	}
	for range tries {
		port := first + rand.IntN(last-first+1) //nolint:gosec // no secret
		if _, taken := p.taken[port]; taken {
			continue
		}
		reservation, ok := reserve(port)
		if !ok {
			continue
		}
		if !free(port) {
			release(reservation)
			continue
		}
		p.taken[port] = reservation
		return port, nil
	}
	return 0, errors.New("no free loopback port found")
}

// reserve reserves the port until the reservation is closed or the process ends. It reports
// false if the port is reserved already. A reservation is a Unix socket with an abstract
// name, for which there is no file. Only Linux has such names. Without them, and if the
// process has too many open files, there is no reservation.
func reserve(port int) (reservation net.Listener, ok bool) {
	if runtime.GOOS != "linux" {
		return nil, true
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: "@fairlead/port/" + strconv.Itoa(port)})
	if err != nil {
		return nil, !errors.Is(err, syscall.EADDRINUSE)
	}
	return l, true
}

func release(reservation net.Listener) {
	if reservation != nil {
		_ = reservation.Close()
	}
}

func free(port int) bool {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// Address returns the loopback address with the port.
func Address(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
