package simulator

import "time"

// balancer is a load balancer as the cloud itself knows it. Its address is
// given from the start, and shown once it is active.
type balancer struct {
	LoadBalancer

	Created time.Time `json:"created"`
	// ActiveAt is when it will be active; zero once it is.
	ActiveAt time.Time `json:"activeAt,omitzero"`
}

func (b balancer) identity() identity {
	return identity{id: b.ID, name: b.Name, tags: b.Tags, created: b.Created}
}

// moves is when the load balancer will change by itself; zero if it will not.
func (b balancer) moves() time.Time { return b.ActiveAt }

// at is the load balancer as it has become by now.
func (b balancer) at(now time.Time) balancer {
	if !b.ActiveAt.After(now) {
		b.State, b.ActiveAt = LoadBalancerActive, time.Time{}
	}
	return b
}

// shown is the load balancer as customers see it.
func (b balancer) shown() LoadBalancer {
	l := b.LoadBalancer
	if l.State != LoadBalancerActive {
		l.Address = ""
	}
	return l
}
