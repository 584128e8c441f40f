package wire

// Traffic reports the traffic of a load balancer: its open connections, and
// totals since the load balancer was created or the cloud was started,
// whichever is later.
type Traffic struct {
	Listeners []ListenerTraffic `json:"listeners"`
	// Backends are the backends of the load balancer, in the order of
	// LoadBalancer.Backends. After them come the removed backends that still
	// drain.
	Backends []BackendTraffic `json:"backends"`
}

// ListenerTraffic reports the traffic of one listener.
type ListenerTraffic struct {
	Protocol Protocol `json:"protocol"`
	Port     int      `json:"port"`
	// Address is the address at which it listens, such as "127.64.0.1:80"; empty
	// if it does not listen. If the process has no privilege for the listener's
	// port, the load balancer listens at another port.
	Address string `json:"address,omitempty"`
	// Problem says why it does not listen; empty if it listens.
	Problem string `json:"problem,omitempty"`
	// Connections counts the connections that were forwarded. For UDP, all
	// datagrams of one client address without a long pause between them count as
	// one connection.
	Connections int64 `json:"connections"`
	// Denied counts the connections from outside the source ranges.
	Denied int64 `json:"denied"`
	// Rejected counts the connections for which no backend was found.
	Rejected int64 `json:"rejected"`
}

// BackendHealth reports whether a backend gets new connections.
type BackendHealth string

// The health of a backend.
const (
	// BackendChecking means that the backend has not passed a check yet, and gets
	// no connections.
	BackendChecking BackendHealth = "checking"
	BackendHealthy  BackendHealth = "healthy"
	// BackendUnhealthy means that the backend gets no new connections, but keeps
	// its open ones.
	BackendUnhealthy BackendHealth = "unhealthy"
	// BackendDraining means that the backend was removed and gets no new
	// connections. It keeps its open connections for the drain time.
	BackendDraining BackendHealth = "draining"
)

// BackendTraffic reports the traffic of one backend.
type BackendTraffic struct {
	Instance string        `json:"instance"`
	Health   BackendHealth `json:"health"`
	// Why says why it is not healthy; empty if it is healthy.
	Why string `json:"why,omitempty"`
	// Open counts its open connections.
	Open int64 `json:"open"`
	// Connections counts all its connections so far.
	Connections int64 `json:"connections"`
	// Failures counts the connections that it did not take. The load balancer then
	// tried another backend.
	Failures int64 `json:"failures"`
	// BytesIn counts the bytes from clients. BytesOut counts the bytes to clients.
	BytesIn  int64 `json:"bytesIn"`
	BytesOut int64 `json:"bytesOut"`
}
