package traffic

import (
	"errors"
	"net/netip"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// Balancer is the wanted state of a load balancer.
type Balancer struct {
	ID        string
	Address   netip.Addr
	Listeners []Listener
	Backends  []Backend
	// SourceRanges are the sources whose traffic is accepted. Without ranges no
	// traffic is accepted.
	SourceRanges []netip.Prefix
	// Affinity is how long a client stays with its backend after the client's last
	// connection; 0 means that it does not stay.
	Affinity time.Duration
	// Drain is how long a removed backend keeps its connections.
	Drain time.Duration
	Check Check
}

// Listener is a port of a load balancer, and the port of its backends.
type Listener struct {
	Protocol          wire.Protocol
	Port, BackendPort uint16
}

// Backend is a machine that traffic is forwarded to.
type Backend struct {
	ID string
	// Address may be invalid if Off is set.
	Address netip.Addr
	// Off is the reason why the backend gets no new connections. It overrides the
	// result of a check. If Off is empty, the backend can get new connections.
	Off string
}

// Check says how a backend is checked. If it has no port, a check is a TCP
// connection to the backend port of each TCP listener. The backends of a UDP
// listener then always count as healthy.
type Check struct {
	Port uint16
	// Path is requested over HTTP, and the answer must be 200. Path needs a port.
	// If Path is empty, a TCP connection is enough.
	Path string
}

// Checks configures the health checks. A field that is 0 gets its default.
type Checks struct {
	// Interval is the pause between two checks of a backend; default 1s.
	Interval time.Duration
	// Timeout is the maximum duration of a check; default 1s.
	Timeout time.Duration
	// HealthyAfter is the number of successes in a row after which an unhealthy
	// backend is healthy again; default 2. A new backend needs only one success.
	HealthyAfter int
	// UnhealthyAfter is the number of failures in a row after which a healthy
	// backend is unhealthy; default 3.
	UnhealthyAfter int
}

// Check returns an error if c is invalid.
func (c Checks) Check() error {
	if c.Interval < 0 || c.Timeout < 0 || c.HealthyAfter < 0 || c.UnhealthyAfter < 0 {
		return errors.New("health checks: interval, timeout and thresholds must not be negative")
	}
	return nil
}

func (c Checks) completed() Checks {
	if c.Interval == 0 {
		c.Interval = time.Second
	}
	if c.Timeout == 0 {
		c.Timeout = time.Second
	}
	if c.HealthyAfter == 0 {
		c.HealthyAfter = 2
	}
	if c.UnhealthyAfter == 0 {
		c.UnhealthyAfter = 3
	}
	return c
}
