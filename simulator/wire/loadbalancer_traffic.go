package wire

// Traffic is what a load balancer carries now, and has carried since it was
// made or the cloud was started, whichever is later.
type Traffic struct {
	Listeners []ListenerTraffic `json:"listeners"`
	// Backends are those of the load balancer, in order, and then those that
	// were removed and still drain.
	Backends []BackendTraffic `json:"backends"`
}

// ListenerTraffic is what one listener carries.
type ListenerTraffic struct {
	Protocol Protocol `json:"protocol"`
	Port     int      `json:"port"`
	// Address is where it really listens, such as "127.64.0.1:80". Where the
	// process of the cloud may not listen at a low port, it has another one.
	Address string `json:"address,omitempty"`
	// Problem is why it does not listen.
	Problem string `json:"problem,omitempty"`
	// Connections that were forwarded. With UDP, all that one client address
	// sends without a long pause is a connection.
	Connections int64 `json:"connections"`
	// Denied came from outside the source ranges.
	Denied int64 `json:"denied"`
	// Rejected found no backend.
	Rejected int64 `json:"rejected"`
}

// BackendHealth reports whether a backend gets new connections.
type BackendHealth string

// The health of a backend.
const (
	// BackendChecking has not answered yet, and gets nothing.
	BackendChecking BackendHealth = "checking"
	BackendHealthy  BackendHealth = "healthy"
	// BackendUnhealthy gets nothing. Connections that it has are left alone.
	BackendUnhealthy BackendHealth = "unhealthy"
	// BackendDraining was removed and gets nothing; its connections live on for
	// the time of the drain.
	BackendDraining BackendHealth = "draining"
)

// BackendTraffic is what one backend gets.
type BackendTraffic struct {
	Instance string        `json:"instance"`
	Health   BackendHealth `json:"health"`
	// Why it is not healthy.
	Why string `json:"why,omitempty"`
	// Open are the connections that it has.
	Open int64 `json:"open"`
	// Connections that it got.
	Connections int64 `json:"connections"`
	// Failures are connections that it did not take; they went to another one.
	Failures int64 `json:"failures"`
	// BytesIn came from clients, BytesOut went to them.
	BytesIn  int64 `json:"bytesIn"`
	BytesOut int64 `json:"bytesOut"`
}
