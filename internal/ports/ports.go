// Package ports finds loopback ports for servers whose port must be known before they start.
package ports

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The ports are below 30000. From 32768 on, the kernel gives ports to clients, and Kubernetes uses 30000 to 32767 for
// Services. A server in one of these ranges could find its port taken after a restart.
const (
	first = 10000
	last  = 29999
	tries = 1000
)

// Picker hands out ports. It never hands out the same port twice. The zero value
// is ready to use.
type Picker struct {
	mu    sync.Mutex
	taken map[int]bool // guarded by mu
}

// Next returns a TCP port of 127.0.0.1 that is free.
func (p *Picker) Next() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken == nil {
		p.taken = map[int]bool{}
	}
	for range tries {
		port := first + rand.IntN(last-first+1) //nolint:gosec // no secret
		if p.taken[port] || !free(port) {
			continue
		}
		p.taken[port] = true
		return port, nil
	}
	return 0, errors.New("no free loopback port found")
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
