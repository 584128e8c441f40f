package simulator

import "time"

// description is what a cloud is, what it allows, and what can be done to it.
// It never changes while the cloud runs.
type description struct {
	Started  time.Time `json:"started"`
	PageSize int       `json:"pageSize"`
	// Traffic says whether load balancers carry any.
	Traffic          bool                   `json:"traffic"`
	MaxLoadBalancers int                    `json:"maxLoadBalancers,omitempty"`
	MaxBackends      int                    `json:"maxBackends,omitempty"`
	MaxRoutes        int                    `json:"maxRoutes,omitempty"`
	UniqueRoutes     bool                   `json:"uniqueRoutes,omitempty"`
	FaultKinds       []faultKindDescription `json:"faultKinds"`
}

// faultKindDescription is all that is needed to set a fault of a kind.
type faultKindDescription struct {
	Kind   FaultKind `json:"kind"`
	Effect string    `json:"effect"`
	// Calls are those that it can hit.
	Calls []Call `json:"calls"`
	// Settings are the fields of a Fault that belong to the kind.
	Settings []string `json:"settings"`
}

func (c *Cloud) description() description {
	d := description{
		Started:          c.started,
		PageSize:         c.pageSize,
		Traffic:          c.carriage.wanted,
		MaxLoadBalancers: c.limits.loadBalancers,
		MaxBackends:      c.limits.backends,
		MaxRoutes:        c.limits.routes,
		UniqueRoutes:     c.limits.uniqueRoutes,
	}
	for _, k := range FaultKinds() {
		d.FaultKinds = append(d.FaultKinds, k.description())
	}
	return d
}

func (k FaultKind) description() faultKindDescription {
	d := faultKindDescription{Kind: k, Effect: k.effect(), Calls: []Call{}, Settings: []string{}}
	for _, call := range CallNames() {
		if k.hits(call) {
			d.Calls = append(d.Calls, call)
		}
	}
	for _, s := range (Fault{}).settings() {
		for _, of := range s.kinds {
			if of == k {
				d.Settings = append(d.Settings, s.name)
			}
		}
	}
	return d
}
