package ipam

import (
	"context"
	"net/netip"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// seen has the facts that a pass has learnt in its earlier steps.
type seen struct {
	live *live
	full netip.Prefix
}

// observe gathers the known facts about a Node, without I/O. If the Node has no CIDRs,
// observe also records in the ledger when the Node was first seen, and makes a memory
// for the Node.
func (c *Controller) observe(name string, s seen) (observed, error) {
	node, err := c.nodes.Cached(name)
	if apierrors.IsNotFound(err) {
		node, err = nil, nil
	}
	if err != nil {
		return observed{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := observed{now: c.clock.Now(), node: node, live: s.live, full: s.full, others: c.others, memory: c.memories[name], claim: c.claim, self: c.self}
	o.suspects, o.suspect = c.ledger.blocking(o.now)
	if node == nil {
		o.former = c.ledger.former(name, "")
		return o, nil
	}
	o.former = c.ledger.former(name, node.UID)
	has := cidrsOf(node)
	e := c.ledger.entries[node.UID]
	if e == nil && len(has) == 0 {
		e = c.ledger.at(node.UID, name)
		c.ledger.seenWithout(e, o.now)
	}
	if e != nil {
		o.entry = *e
	}
	if _, noted := c.memories[name]; !noted && len(has) == 0 {
		c.memories[name] = memory{} // From now on, wakeWaiting requests passes over this Node, even before the pass has decided to wait.
	}
	if cidrs := parse(has); len(cidrs) > 0 {
		o.inRange = c.ledger.covers(cidrs)
		if other := c.ledger.overlapping(node.UID, cidrs); other != nil {
			copied := *other
			o.overlaps = &copied
		}
	}
	return o, nil
}

// full returns a CIDR of the cluster that has no free part left, or the zero value if
// there is none.
func (c *Controller) full() netip.Prefix {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.ledger.pools {
		if p.isFull() {
			return p.Cluster
		}
	}
	return netip.Prefix{}
}

// read reads the Node from the API server. It returns no error if the Node does not
// exist.
func (c *Controller) read(ctx context.Context, name string) (*live, error) {
	node, err := c.nodes.Live(ctx, name)
	if apierrors.IsNotFound(err) {
		return &live{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &live{uid: node.UID, cidrs: cidrsOf(node), manager: showing.Managers(node, `"f:podCIDR`)}, nil
}
