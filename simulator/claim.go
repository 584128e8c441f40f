package simulator

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"k8s.io/klog/v2"
)

// claims keep clouds on one machine from listening at each other's addresses:
// a cloud that carries traffic claims a net of 256 addresses before it gives
// one of them to a load balancer. A claim is a socket, and so it ends with its
// process, whatever becomes of that.
type claims map[netip.Prefix]claim

// claim is a net that was claimed.
type claim struct {
	socket net.Listener // nil if there is none
	theirs bool         // it belongs to another cloud
}

const (
	claimHost = 255 // no load balancer has it
	claimPort = 7641
)

// claimed claims the net of an address, unless that was done before. c.mu is
// held.
func (c *Cloud) claimed(ctx context.Context, ip netip.Addr) claim {
	network := netip.PrefixFrom(ip, 24).Masked()
	if known, ok := c.claims[network]; ok {
		return known
	}
	at := network.Addr().As4()
	at[3] = claimHost
	var config net.ListenConfig
	socket, err := config.Listen(ctx, "tcp4", netip.AddrPortFrom(netip.AddrFrom4(at), claimPort).String())
	made := claim{socket: socket, theirs: errors.Is(err, syscall.EADDRINUSE)}
	if made.theirs {
		klog.FromContext(ctx).Info("These addresses belong to another simulated cloud on this machine", "network", network)
	}
	c.claims[network] = made // where nobody can listen, the listeners will say so
	return made
}

// theirs reports whether an address belongs to another cloud. c.mu is held.
func (c *Cloud) theirs(ctx context.Context, ip netip.Addr) bool {
	return c.carriage.plane.Load() != nil && c.claimed(ctx, ip).theirs
}

// claimKept claims the nets of the addresses that are given already.
func (c *Cloud) claimKept(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.loadBalancers.rows {
		c.claimed(ctx, netip.MustParseAddr(b.Address))
	}
	for _, r := range c.staticIPs.rows {
		c.claimed(ctx, netip.MustParseAddr(r.Address))
	}
}

// dropClaims gives all nets back.
func (c *Cloud) dropClaims(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for network, claim := range c.claims {
		if claim.socket == nil {
			continue
		}
		if err := claim.socket.Close(); err != nil {
			klog.FromContext(ctx).Error(err, "A claim could not be dropped", "network", network)
		}
	}
	clear(c.claims)
}
