package wire

// LoadBalancerState is the state of a load balancer.
type LoadBalancerState string

// The states of a load balancer.
const (
	// LoadBalancerPending is the state of a load balancer that is being created.
	// It has no address yet and carries no traffic.
	LoadBalancerPending LoadBalancerState = "pending"
	LoadBalancerActive  LoadBalancerState = "active"
)

// Protocol is the protocol of a listener.
type Protocol string

// The protocols.
const (
	TCP Protocol = "TCP"
	UDP Protocol = "UDP"
)

// Protocols returns all protocols.
func Protocols() []Protocol { return []Protocol{TCP, UDP} }

// Everyone is the source range of all IPv4 addresses. Load balancers support
// only IPv4.
const Everyone = "0.0.0.0/0"

// MaxLoadBalancerName is the maximum length in bytes of the name of a load
// balancer.
const MaxLoadBalancerName = 63

// LoadBalancer forwards traffic from its address to its backends. Its ID and its
// name never change. IDs are never reused, and two load balancers never have the
// same name at the same time.
type LoadBalancer struct {
	ID    string            `json:"id,omitempty"`
	Name  string            `json:"name"`
	State LoadBalancerState `json:"state,omitempty"`
	// Tags are chosen by the owner. Lists can be filtered by tags.
	Tags map[string]string `json:"tags,omitempty"`
	// Address is the IP address at which the load balancer listens. It is empty
	// until the load balancer is active.
	Address string `json:"address,omitempty"`
	// StaticIP is the ID of the static IP that the load balancer uses. If StaticIP
	// is empty, the cloud assigns an address. It releases this address when the
	// load balancer is deleted.
	StaticIP  string     `json:"staticIP,omitempty"`
	Listeners []Listener `json:"listeners"`
	// Backends are IDs of instances. The cloud sorts them and removes duplicates. An
	// instance need not exist yet, because the cloud looks it up when it forwards
	// traffic.
	Backends []string `json:"backends"`
	// SourceRanges are the client addresses whose traffic is accepted. In a
	// creation, nil means Everyone. An empty list is refused, because it could
	// mean everyone or no one.
	SourceRanges []string `json:"sourceRanges,omitzero"`
	// Affinity is how long a client IP stays with its backend after the client's
	// last connection; 0 means that each connection goes to the next backend.
	Affinity    Duration    `json:"affinity,omitempty"`
	HealthCheck HealthCheck `json:"healthCheck,omitzero"`
	// Drain is how long a removed backend keeps its open connections. 0 cuts them
	// at once, and nil means the cloud's default. A removed backend never gets new
	// connections.
	Drain *Duration `json:"drain,omitempty"`

	// Traffic reports the traffic that the load balancer carries. It is nil in
	// each of these cases: in requests, while the load balancer is pending, and if
	// the cloud carries no traffic.
	Traffic *Traffic `json:"traffic,omitempty"`
}

// Listener is a port of a load balancer.
type Listener struct {
	Protocol Protocol `json:"protocol"`
	Port     int      `json:"port"`
	// BackendPort is the port on which backends listen, such as a node port.
	BackendPort int `json:"backendPort"`
}

// HealthCheck says how the health of backends is checked. With the zero value, a
// check is a TCP connection to the backend port of each TCP listener. The
// backends of a UDP listener are then never checked, and count as healthy.
type HealthCheck struct {
	// Port is checked instead of the listeners' backend ports, and the result
	// counts for all listeners. 0 means that the backend ports are checked.
	Port int `json:"port,omitempty"`
	// Path, such as /healthz, is requested over HTTP, and the answer must be 200.
	// Path needs a Port. If Path is empty, a TCP connection is enough.
	Path string `json:"path,omitempty"`
}

// LoadBalancerPatch changes a load balancer. A field that is nil changes
// nothing.
type LoadBalancerPatch struct {
	// Tags are merged into those of the load balancer; a nil value removes a tag.
	Tags map[string]*string `json:"tags,omitempty"`
	// StaticIP is the ID of another static IP. A pointer to an empty string lets
	// the cloud assign an address instead.
	StaticIP  *string    `json:"staticIP,omitempty"`
	Listeners []Listener `json:"listeners,omitzero"`
	// Backends replace all backends. An empty list that is not nil removes all
	// backends.
	Backends     []string     `json:"backends,omitzero"`
	SourceRanges []string     `json:"sourceRanges,omitzero"`
	Affinity     *Duration    `json:"affinity,omitempty"`
	HealthCheck  *HealthCheck `json:"healthCheck,omitempty"`
	// Drain sets the drain time. A negative value means the cloud's default.
	Drain *Duration `json:"drain,omitempty"`
}

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

// MaxSharedBackends is the maximum number of load balancers in one SharedBackends.
const MaxSharedBackends = 250

// SharedBackends is the body of a request that gives several load balancers the same
// backends.
type SharedBackends struct {
	// Names are the names of the load balancers.
	Names []string `json:"names"`
	// Tags are the tags that each load balancer must have. A load balancer that lacks
	// one of them is not changed, and the answer says that it does not exist.
	Tags map[string]string `json:"tags,omitempty"`
	// Backends are IDs of instances, as in LoadBalancer.
	Backends []string `json:"backends"`
}

// BackendOutcomes is the body of the answer to SharedBackends. The outcomes are in the
// order of the names.
type BackendOutcomes struct {
	Outcomes []BackendResult `json:"outcomes"`
}

// BackendResult is the outcome for one load balancer. Status is the HTTP status that a
// request for only this load balancer would get.
type BackendResult struct {
	Status int          `json:"status"`
	Error  *ErrorDetail `json:"error,omitempty"`
}

// StaticIP is an address that is kept until it is released, whether a load
// balancer uses it or not. Its ID, name and address never change. Two static IPs
// never have the same name at the same time.
type StaticIP struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// If a creation has no Address, the cloud chooses one.
	Address string `json:"address,omitempty"`
	// LoadBalancer is the ID of the load balancer that uses it; empty if none does.
	LoadBalancer string `json:"loadBalancer,omitempty"`
}
