// Package traffic carries the traffic of load balancers: it listens at their
// addresses, forwards TCP and UDP to their backends, and checks the health of
// the backends.
//
// Plane.Apply sets the load balancers that are wanted, and Plane.Report describes the
// traffic of one of them. Each listener is a front with a socket. Behind it, a pool has
// one member for each backend, and chooses a member for each connection. A member that
// is no longer wanted drains: it gets no new connections, and keeps its open ones for a
// limited time.
//
// The following is always true:
//
//   - A change of backends interrupts nothing: the socket of a front stays open,
//     and an accepted connection tries one backend after the other until one
//     takes it.
//   - When Apply returns, no new connection goes to a removed backend.
//   - Traffic from outside the source ranges is refused. Without ranges, all
//     traffic is refused.
//   - A connection that no backend takes is reset. A datagram that no backend takes
//     is dropped.
//   - All sockets and goroutines end with Close.
//
// A new backend is checked at once, and gets connections after its first
// success. A healthy backend becomes unhealthy after Checks.UnhealthyAfter
// failures in a row, and healthy again after Checks.HealthyAfter successes in a
// row. An unhealthy backend gets no new connections, but keeps its open
// connections.
package traffic
