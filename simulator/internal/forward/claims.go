package forward

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"k8s.io/klog/v2"
)

// Claims keep two clouds on one machine from listening at the same addresses. A
// cloud that carries traffic claims a network of 256 addresses before it assigns
// one of them to a load balancer. A claim is a listening socket, so no claim
// outlives its process. The zero value claims nothing until its method start is
// called.
type Claims struct {
	mu     sync.Mutex
	active bool                   // guarded by mu
	made   map[netip.Prefix]claim // guarded by mu
}

// claim is the result of an attempt to claim a network.
type claim struct {
	socket    net.Listener // nil if there is none
	isForeign bool         // another cloud has claimed the network
}

const (
	claimHost = 255 // last byte of the claimed address; no load balancer gets it
	claimPort = 7641
)

// IsForeign reports whether an address belongs to another cloud. It first tries
// to claim the network of the address, unless it has tried before.
func (c *Claims) IsForeign(ctx context.Context, ip netip.Addr) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active && c.claim(ctx, ip).isForeign
}

// start claims the networks of the addresses that load balancers already have.
// Other networks are claimed when IsForeign is called.
func (c *Claims) start(ctx context.Context, given []netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active, c.made = true, map[netip.Prefix]claim{}
	for _, ip := range given {
		c.claim(ctx, ip)
	}
}

// claim claims the network of an address. c.mu is held.
func (c *Claims) claim(ctx context.Context, ip netip.Addr) claim {
	network := netip.PrefixFrom(ip, 24).Masked()
	if known, ok := c.made[network]; ok {
		return known
	}
	at := network.Addr().As4()
	at[3] = claimHost
	var config net.ListenConfig
	socket, err := config.Listen(ctx, "tcp4", netip.AddrPortFrom(netip.AddrFrom4(at), claimPort).String())
	made := claim{socket: socket, isForeign: errors.Is(err, syscall.EADDRINUSE)}
	if made.isForeign {
		klog.FromContext(ctx).Info("Addresses belong to another simulated cloud on this machine", "network", network)
	}
	c.made[network] = made // other errors are ignored here: the load balancer's listener will report them
	return made
}

// stop releases all networks.
func (c *Claims) stop(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for network, claim := range c.made {
		if claim.socket == nil {
			continue
		}
		if err := claim.socket.Close(); err != nil {
			klog.FromContext(ctx).Error(err, "Claim not released", "network", network)
		}
	}
	c.active, c.made = false, nil
}
