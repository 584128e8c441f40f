package ports

import (
	"net"
	"runtime"
	"testing"
)

func TestNext(t *testing.T) {
	var p Picker
	seen := map[int]bool{}
	for range 2000 { // Among 2,000 random ports, some are equal.
		port, err := p.Next()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Errorf("%d twice", port)
		}
		seen[port] = true
		if port < first || port > last {
			t.Errorf("%d is not between %d and %d", port, first, last)
		}
	}
	if first <= 10260 {
		t.Errorf("the first port is %d, and a component of Kubernetes may listen on 10260", first)
	}
	if last >= 30000 {
		t.Errorf("the last port is %d, and Kubernetes uses 30000 and the next ones for Services", last)
	}
}

func TestATakenPortIsNotFree(t *testing.T) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if port := l.Addr().(*net.TCPAddr).Port; free(port) {
		t.Errorf("%d is taken", port)
	}
}

// Two processes that choose ports at the same time, each with a Picker of its own, do not
// choose the same one, although nothing listens yet.
func TestAReservedPortIsTaken(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has sockets with abstract names")
	}
	var p Picker
	port, err := p.Next()
	if err != nil {
		t.Fatal(err)
	}
	if !free(port) {
		t.Errorf("%d is not free for the server that it was chosen for", port)
	}
	if _, ok := reserve(port); ok {
		t.Errorf("%d can be reserved twice", port)
	}
	release(p.taken[port])
	reservation, ok := reserve(port)
	if !ok {
		t.Errorf("%d is still reserved", port)
	}
	release(reservation)
}
