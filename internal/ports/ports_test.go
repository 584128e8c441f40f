package ports

import (
	"net"
	"testing"
)

func TestNext(t *testing.T) {
	var p Picker
	seen := map[int]bool{}
	for range 200 {
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
