package simulator

import "time"

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

// StaticIPList is one page of static IPs, ordered by ID.
type StaticIPList struct {
	Items []StaticIP `json:"items"`
	// Continue asks for the next page; empty on the last one.
	Continue string `json:"continue,omitempty"`
}

// reserved is a static IP as the cloud itself knows it.
type reserved struct {
	StaticIP

	Created time.Time `json:"created"`
}

func (r reserved) identity() identity { return identity{id: r.ID, name: r.Name, created: r.Created} }
