package kit

import (
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cloud-provider/api"
)

// Pending returns an error for a load balancer that is not ready yet. The daemon
// makes the same call again after the given time, and works on other Services in
// the meantime. A provider returns this error instead of waiting.
func Pending(after time.Duration, format string, args ...any) error {
	return api.NewRetryError(fmt.Sprintf(format, args...), after)
}

// Status returns the status of a Service whose load balancer has these addresses, in
// this order. An address is an IP address of either family, or a host name. Status
// leaves out repeated addresses. It also leaves out empty addresses, because a
// pending load balancer may have no address yet.
//
// The mode says what happens to traffic from a pod to an IP address of the load
// balancer. With LoadBalancerIPModeVIP, kube-proxy delivers this traffic without the
// load balancer. With LoadBalancerIPModeProxy, the traffic goes to the load
// balancer. That is necessary if the load balancer adds a PROXY header or terminates
// TLS. Host names have no mode.
func Status(mode corev1.LoadBalancerIPMode, addresses ...string) (*corev1.LoadBalancerStatus, error) {
	status := &corev1.LoadBalancerStatus{}
	seen := map[string]bool{"": true}
	for _, address := range addresses {
		if seen[address] {
			continue
		}
		seen[address] = true
		ip, err := netip.ParseAddr(address)
		switch {
		case err == nil && ip.Zone() == "":
			status.Ingress = append(status.Ingress, corev1.LoadBalancerIngress{IP: ip.Unmap().String(), IPMode: &mode})
		case err != nil && len(validation.IsDNS1123Subdomain(address)) == 0:
			status.Ingress = append(status.Ingress, corev1.LoadBalancerIngress{Hostname: address})
		default:
			return nil, fmt.Errorf("the load balancer has the address %q, which is neither an IP address nor a host name", address)
		}
	}
	return status, nil
}
