package wire

// StaticIP is an address that is kept until it is released, whether a load
// balancer uses it or not. Its ID, name and address never change, and no two
// have one name at the same time.
type StaticIP struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Address is chosen by the cloud if a creation names none.
	Address string `json:"address,omitempty"`
	// LoadBalancer is the ID of the one that uses it; empty if none does.
	LoadBalancer string `json:"loadBalancer,omitempty"`
}
