package node

import (
	"sync"

	"k8s.io/component-base/metrics"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// owners counts the Nodes by owner.
type owners struct {
	gauge *metrics.GaugeVec

	mu sync.Mutex
	of map[string]ownership.Owner // by name of the Node; guarded by mu
}

func newOwners() *owners {
	return &owners{
		gauge: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Name:           "fairlead_nodes",
			Help:           "Nodes by owner: mine, foreign, nobody, or unknown. The daemon works only on Nodes whose owner is mine or unknown",
			StabilityLevel: metrics.ALPHA,
		}, []string{"owner"}),
		of: map[string]ownership.Owner{},
	}
}

// set records the owner of a Node.
func (o *owners) set(name string, owner ownership.Owner) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.remove(name)
	o.of[name] = owner
	o.gauge.WithLabelValues(string(owner)).Inc()
}

// delete forgets a Node.
func (o *owners) delete(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.remove(name)
}

func (o *owners) remove(name string) {
	if was, ok := o.of[name]; ok {
		o.gauge.WithLabelValues(string(was)).Dec()
		delete(o.of, name)
	}
}

// clear forgets all Nodes.
func (o *owners) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.of)
	o.gauge.Reset()
}

// count records the owner of a Node in the metrics. If the Node has a provider ID and
// the cloud has described its instance, the scheme of that ID counts as confirmed.
func (c *Controller) count(o observed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.answer.given == described && o.node.Spec.ProviderID != "" {
		c.confirmed[nodefact.Scheme(o.node)] = true
	}
	c.metrics.owners.set(o.node.Name, o.claim.Owner(o.node, ownership.Known{Confirmed: c.confirmed}).Owner)
}
