package wire

// LoadBalancerState is where a load balancer is in its life.
type LoadBalancerState string

// The states of a load balancer.
const (
	// LoadBalancerPending is being made: it has no address yet and carries nothing.
	LoadBalancerPending LoadBalancerState = "pending"
	LoadBalancerActive  LoadBalancerState = "active"
)

// Protocol is what a listener speaks.
type Protocol string

// The protocols.
const (
	TCP Protocol = "TCP"
	UDP Protocol = "UDP"
)

// Protocols are all protocols.
func Protocols() []Protocol { return []Protocol{TCP, UDP} }

// Everyone is the source range that contains all IPv4 addresses. Load balancers
// speak IPv4 only.
const Everyone = "0.0.0.0/0"

// MaxLoadBalancerName is how many bytes the name of a load balancer may have.
const MaxLoadBalancerName = 63

// LoadBalancer forwards what arrives at its address to its backends. Its ID and
// its name never change. IDs are never given again, and no two load balancers
// have one name at the same time.
type LoadBalancer struct {
	ID    string            `json:"id,omitempty"`
	Name  string            `json:"name"`
	State LoadBalancerState `json:"state,omitempty"`
	// Tags are the owner's own words. Lists can be limited to a tag.
	Tags map[string]string `json:"tags,omitempty"`
	// Address is where it listens, once it is active.
	Address string `json:"address,omitempty"`
	// StaticIP is the ID of the static IP that it uses; empty if its address is
	// its own, which is given back when it is deleted.
	StaticIP  string     `json:"staticIP,omitempty"`
	Listeners []Listener `json:"listeners"`
	// Backends are IDs of instances, in order. They are looked up when traffic
	// is forwarded, so an instance need not exist yet.
	Backends []string `json:"backends"`
	// SourceRanges are whose traffic is let in. In a creation, none at all means
	// Everyone. An empty list is refused, because it could mean everyone or
	// no one.
	SourceRanges []string `json:"sourceRanges,omitzero"`
	// Affinity keeps a client IP with its backend for that long after its last
	// connection; 0 means that each connection is for the next backend.
	Affinity    Duration    `json:"affinity,omitempty"`
	HealthCheck HealthCheck `json:"healthCheck,omitzero"`
	// Drain is how long connections to a removed backend live on; 0 cuts them at
	// once, and nil leaves it to the cloud. New connections always go to other
	// backends at once.
	Drain *Duration `json:"drain,omitempty"`

	// Traffic is what it carries. It is only there in answers of a cloud that
	// carries traffic.
	Traffic *Traffic `json:"traffic,omitempty"`
}

// Listener is a port of a load balancer.
type Listener struct {
	Protocol Protocol `json:"protocol"`
	Port     int      `json:"port"`
	// BackendPort is where backends listen, such as a node port.
	BackendPort int `json:"backendPort"`
}

// HealthCheck says how a backend is found to be well. The zero check is a TCP
// connection to the backend port of each listener; backends of a UDP listener
// are then never checked, and always well.
type HealthCheck struct {
	// Port is asked instead of the listeners' backend ports, and its answer
	// counts for all listeners. 0 means none.
	Port int `json:"port,omitempty"`
	// Path, such as /healthz, is asked by HTTP and must be answered with 200;
	// empty means that a TCP connection is enough. It needs a Port.
	Path string `json:"path,omitempty"`
}

// LoadBalancerPatch changes a load balancer; what is nil stays as it is.
type LoadBalancerPatch struct {
	// Tags are merged into those of the load balancer; a nil value removes a tag.
	Tags map[string]*string `json:"tags,omitempty"`
	// StaticIP changes the address. Not nil but empty gives the load balancer an
	// address of its own.
	StaticIP  *string    `json:"staticIP,omitempty"`
	Listeners []Listener `json:"listeners,omitzero"`
	// Backends replace all backends. Not nil but empty removes them all.
	Backends     []string     `json:"backends,omitzero"`
	SourceRanges []string     `json:"sourceRanges,omitzero"`
	Affinity     *Duration    `json:"affinity,omitempty"`
	HealthCheck  *HealthCheck `json:"healthCheck,omitempty"`
	// Drain leaves the time to the cloud again if it is negative.
	Drain *Duration `json:"drain,omitempty"`
}
