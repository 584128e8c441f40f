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
