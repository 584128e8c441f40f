package wire

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
