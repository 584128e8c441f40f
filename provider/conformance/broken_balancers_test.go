package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// brokenMaxBackends is the largest number of backends of a load balancer.
const brokenMaxBackends = 4

// balancer is a load balancer of the cloud.
type balancer struct {
	conformance.LoadBalancer

	cluster string
	uid     types.UID
	service string
	ready   bool
	address string
}

// group is a resource that the cloud has for each port of a load balancer.
type group struct {
	id, cluster string
	uid         types.UID
	port        int32
}

// quotaError is the cloud's answer that a quota is used up.
type quotaError struct {
	StatusCode int
	Code       string
}

func (e *quotaError) Error() string {
	return fmt.Sprintf("the cloud answered %d %s", e.StatusCode, e.Code)
}

var errQuota = &quotaError{StatusCode: http.StatusForbidden, Code: "QuotaExceeded"}

// errTaken is the cloud's answer that another load balancer has the name, or that
// another route has the destination.
var errTaken = &apiError{StatusCode: http.StatusConflict}

// createBalancer is the API's call to create a load balancer. Names are unique.
func (c *brokenCloud) createBalancer(ctx context.Context, wanted balancer) (made balancer, err error) {
	_, err = c.call(ctx, write, func() error {
		if slices.ContainsFunc(c.balancers, func(b balancer) bool { return b.Name == wanted.Name }) {
			return errTaken
		}
		if len(wanted.Backends) > brokenMaxBackends {
			return errQuota
		}
		c.created++
		wanted.ID, wanted.address = fmt.Sprintf("lb-%06d", c.created), fmt.Sprintf("198.51.100.%d", c.created%250+1)
		if wanted.wantsAddress() {
			wanted.address = wanted.Other["address"]
		}
		c.balancers = append(c.balancers, wanted)
		made = wanted
		return nil
	})
	return made, err
}

// wantsAddress reports whether the load balancer asks for a reserved address.
func (b *balancer) wantsAddress() bool { return b.Other["address"] != "" }

// updateBalancer is the API's call to change a load balancer.
func (c *brokenCloud) updateBalancer(ctx context.Context, id string, change func(*balancer)) error {
	_, err := c.call(ctx, write, func() error {
		at := slices.IndexFunc(c.balancers, func(b balancer) bool { return b.ID == id })
		if at < 0 {
			return &apiError{StatusCode: http.StatusNotFound}
		}
		changed := c.balancers[at]
		if change(&changed); len(changed.Backends) > brokenMaxBackends {
			return errQuota
		}
		c.balancers[at] = changed
		return nil
	})
	return err
}

func (c *brokenCloud) createGroup(ctx context.Context, g group) error {
	_, err := c.call(ctx, write, func() error {
		c.created++
		g.id = fmt.Sprintf("g-%06d", c.created)
		c.groups = append(c.groups, g)
		return nil
	})
	return err
}

// provision makes the load balancer ready, unless a hold prevents that. It reports
// whether the load balancer was ready before the call. This is the last step of
// EnsureLoadBalancer, so a new load balancer is not ready at first.
func (c *brokenCloud) provision(id string) (ready bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := range c.balancers {
		if b := &c.balancers[n]; b.ID == id {
			ready, b.ready = b.ready, !c.held
		}
	}
	return ready
}

// brokenDrain is the annotation of this provider. Its value is a number of seconds.
const brokenDrain = "broken.example/drain"

// invalidError means that the cloud cannot do what a Service asks for.
type invalidError struct {
	StatusCode int
	text       string
}

func (e *invalidError) Error() string { return e.text }

func invalidf(format string, args ...any) error {
	return &invalidError{StatusCode: 422, text: fmt.Sprintf(format, args...)}
}

// uid returns the UID by which the provider finds the load balancer of a Service.
func (l *loadBalancers) uid(uid types.UID, m *remembered) types.UID {
	if l.has("restart") && l.number > 1 {
		return types.UID(fmt.Sprintf("%s-%d", uid, l.number))
	}
	if l.has("lost-reply") && m.lost > 0 {
		return types.UID(fmt.Sprintf("%s-%d", uid, m.lost))
	}
	return uid
}

// seen returns the Service as this provider sees it. With some flaws, the provider
// ignores or misreads a field.
func (l *loadBalancers) seen(service *corev1.Service, m *remembered) *corev1.Service {
	s := service.DeepCopy()
	s.UID = l.uid(s.UID, m)
	ports := s.Spec.Ports
	switch {
	case l.has("ports") && m.service != nil:
		s.Spec.Ports = m.service.Spec.Ports
	case l.has("udp") && len(ports) == 1 && ports[0].Port == 53:
		ports[0].Protocol = corev1.ProtocolTCP
	case l.has("mixed-protocols") && len(ports) == 2 && ports[0].Port == ports[1].Port:
		s.Spec.Ports = ports[1:]
	case l.has("sctp") && ports[0].Protocol == corev1.ProtocolSCTP:
		ports[0].Protocol = corev1.ProtocolTCP
	case l.has("not-ignored") && ports[0].NodePort == 0:
		ports[0].NodePort = 30000
	case l.has("source-ranges") && len(s.Spec.LoadBalancerSourceRanges) == 1:
		s.Spec.LoadBalancerSourceRanges = []string{"198.51.0.0/16"}
	case l.has("affinity"):
		s.Spec.SessionAffinity = corev1.ServiceAffinityNone
	case l.has("etp-local"):
		s.Spec.HealthCheckNodePort = 0
	case l.has("ipv6") && len(s.Spec.IPFamilies) == 1, l.has("dual-stack") && len(s.Spec.IPFamilies) == 2:
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	case l.has("static-ip") && !l.isReserved(s.Spec.LoadBalancerIP), l.has("static-ip-reserved") && l.isReserved(s.Spec.LoadBalancerIP):
		s.Spec.LoadBalancerIP = ""
	case l.has("annotations"):
		if _, err := strconv.Atoi(s.Annotations[brokenDrain]); err != nil {
			delete(s.Annotations, brokenDrain)
		}
	}
	return s
}

func (l *loadBalancers) isReserved(ip string) bool {
	l.cloud.mu.Lock()
	defer l.cloud.mu.Unlock()
	return slices.Contains(l.cloud.reserved, ip)
}

// wanted returns the load balancer for a Service.
func (l *loadBalancers) wanted(cluster string, s *corev1.Service, nodes []*corev1.Node) (balancer, error) {
	w := balancer{cluster: cluster, uid: s.UID, service: s.Name}
	w.Name = balancerName(cluster, s.UID)
	for _, p := range s.Spec.Ports {
		made := conformance.Listener{Protocol: p.Protocol, Port: p.Port, NodePort: p.NodePort}
		switch {
		case l.cloud.habit == direct || l.has("own-port"):
			made.NodePort, made.Direct = p.Port, l.cloud.habit == direct
		case p.NodePort == 0:
			return w, invalidf("spec.ports: port %d has no node port", p.Port)
		}
		w.Listeners = append(w.Listeners, made)
	}
	w.SourceRanges = s.Spec.LoadBalancerSourceRanges
	if text := s.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]; text != "" && len(w.SourceRanges) == 0 {
		w.SourceRanges = strings.Split(text, ",")
	}
	if s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		w.AffinitySeconds = *s.Spec.SessionAffinityConfig.ClientIP.TimeoutSeconds
	}
	w.HealthCheckPort = s.Spec.HealthCheckNodePort
	if drain, ok := s.Annotations[brokenDrain]; ok {
		if _, err := strconv.Atoi(drain); err != nil {
			return w, invalidf("annotation %s: %q is not a number of seconds", brokenDrain, drain)
		}
		w.Other = map[string]string{"drain": drain}
	}
	if ip := s.Spec.LoadBalancerIP; ip != "" {
		if !l.isReserved(ip) {
			return w, invalidf("spec.loadBalancerIP: %s is not reserved", ip)
		}
		w.Other = map[string]string{"address": ip}
	}
	if err := l.families(s); err != nil {
		return w, err
	}
	ids, err := l.backends(nodes)
	w.Backends = ids
	return w, err
}

// families returns an error if the Service wants only IPv6. If the Service wants both
// families, families records a warning, because the load balancer will have only IPv4.
func (l *loadBalancers) families(s *corev1.Service) error {
	if !slices.Contains(s.Spec.IPFamilies, corev1.IPv6Protocol) {
		return nil
	}
	if len(s.Spec.IPFamilies) == 1 {
		return invalidf("spec.ipFamilies: there is no IPv6")
	}
	l.cloud.warn(s, "there is no IPv6: the load balancer has an IPv4 address only")
	return nil
}

// warn records a warning about the Service.
func (c *brokenCloud) warn(s *corev1.Service, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warnings[s.UID] = append(c.warnings[s.UID], text)
}
