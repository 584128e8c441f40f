// Package traffic carries the traffic of load balancers: it listens at their
// addresses, forwards TCP and UDP to their backends, and checks how these are.
//
// Apply gives a Plane all load balancers that are wanted, and Report returns
// what they carry. Each listener is a front with a socket. Behind it a pool of
// members takes the connections: one member for each backend. A member that is
// no longer wanted drains, that is, it gets no new connections and keeps those
// that it has for a time.
//
// What holds at any time:
//
//   - Backends change without a gap: the socket of a front stays open, and a
//     connection that was accepted tries one backend after the other until one
//     takes it.
//   - When Apply returns, no new connection goes to a backend that was removed.
//   - Traffic from outside the source ranges is refused; without ranges, all is.
//   - A connection without a backend is reset, and a datagram dropped.
//   - All sockets and goroutines end with Close.
//
// How health is judged: a new backend is checked at once, and gets connections
// after its first success. A backend that is well is taken out after
// Checks.UnhealthyAfter failures in a row, and taken back after
// Checks.HealthyAfter successes in a row. Connections that an unhealthy backend
// has are left alone.
package traffic
