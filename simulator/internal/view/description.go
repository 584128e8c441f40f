package view

import (
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/internal/faults"
)

// Description describes a cloud: its settings, its limits, and the faults that
// can be set. It never changes while the cloud runs.
type Description struct {
	Started  time.Time `json:"started"`
	PageSize int       `json:"pageSize"`
	// Traffic reports whether load balancers carry traffic.
	Traffic bool `json:"traffic"`
	// Cluster reports whether the page can also show a cluster.
	Cluster          bool                 `json:"cluster,omitempty"`
	MaxLoadBalancers int                  `json:"maxLoadBalancers,omitempty"`
	MaxBackends      int                  `json:"maxBackends,omitempty"`
	MaxRoutes        int                  `json:"maxRoutes,omitempty"`
	UniqueRoutes     bool                 `json:"uniqueRoutes,omitempty"`
	FaultKinds       []faults.Description `json:"faultKinds"`
}
