package simulated

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// The tags of a load balancer identify its owner. The cluster's name alone is
// not enough, because clusters may have equal names. The Service's name is not
// enough either, because a Service can be deleted and another one created with
// its name.
const (
	// TagCluster is the tag of everything that belongs to a cluster.
	TagCluster    = "fairlead.dev/cluster"
	TagServiceUID = "fairlead.dev/service-uid"
	// TagService has the form namespace/name. It is only for people to read.
	TagService = "fairlead.dev/service"
)

// ownership identifies the load balancer of a Service.
func ownership(cluster string, service *corev1.Service) map[string]string {
	return map[string]string{TagCluster: cluster, TagServiceUID: string(service.UID)}
}

// balancerName returns the same name for the same Service, and different names
// for two Services, even of two clusters.
func balancerName(cluster string, service *corev1.Service) string {
	return uniqueName(service.Namespace+"-"+service.Name, simulator.MaxLoadBalancerName, cluster, string(service.UID))
}

// uniqueName returns a readable name of at most longest bytes. The same words
// always result in the same name, and different words in different names.
func uniqueName(name string, longest int, words ...string) string {
	const digits = 10
	hash := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	suffix := "-" + hex.EncodeToString(hash[:])[:digits]
	return name[:min(len(name), longest-len(suffix))] + suffix
}

// wantedBy returns the load balancer that a Service wants, except for its
// static IP. The error names everything that is wrong with the Service.
func wantedBy(cluster string, service *corev1.Service, backends []string) (simulator.LoadBalancer, error) {
	l := simulator.LoadBalancer{
		Name:     balancerName(cluster, service),
		Tags:     ownership(cluster, service),
		Backends: backends,
	}
	l.Tags[TagService] = service.Namespace + "/" + service.Name
	var problems []error
	note := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	var err error
	if service.UID == "" {
		note(invalidf("metadata.uid: is empty"))
	}
	note(checkFamilies(service))
	l.Listeners, err = listeners(service)
	note(err)
	l.HealthCheck, err = healthCheck(service)
	note(err)
	l.Affinity, err = affinity(service)
	note(err)
	l.SourceRanges, err = sourceRanges(service)
	note(err)
	note(checkAnnotations(service))
	drain, err := drainOf(service)
	note(err)
	l.Drain = (*simulator.Duration)(drain)
	if len(problems) > 0 {
		return l, oneLine(problems)
	}
	return l, nil
}

func checkFamilies(service *corev1.Service) error {
	families := service.Spec.IPFamilies
	if len(families) > 0 && !slices.Contains(families, corev1.IPv4Protocol) {
		return invalidf("spec.ipFamilies: the Service has IPv6 only, and load balancers of this cloud have IPv4 only")
	}
	return nil
}

func listeners(service *corev1.Service) ([]simulator.Listener, error) {
	if len(service.Spec.Ports) == 0 {
		return nil, invalidf("spec.ports: is empty")
	}
	var all []simulator.Listener
	for n, p := range service.Spec.Ports {
		protocol := simulator.Protocol(p.Protocol)
		if protocol == "" {
			protocol = simulator.TCP // the default of the API server
		}
		switch {
		case !slices.Contains(simulator.Protocols(), protocol):
			return nil, invalidf("spec.ports[%d].protocol: load balancers of this cloud speak TCP and UDP, and not %s", n, protocol)
		case p.NodePort == 0:
			return nil, invalidf("spec.ports[%d].nodePort: is missing, and load balancers of this cloud forward to node ports; "+
				"spec.allocateLoadBalancerNodePorts must not be false", n)
		}
		all = append(all, simulator.Listener{Protocol: protocol, Port: int(p.Port), BackendPort: int(p.NodePort)})
	}
	return all, nil
}

// healthCheck returns the health check of a Service. It checks the node ports.
// With externalTrafficPolicy Local it checks kube-proxy's health check port
// instead, because nodes without an endpoint must get no traffic.
func healthCheck(service *corev1.Service) (simulator.HealthCheck, error) {
	if service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		return simulator.HealthCheck{}, nil
	}
	if service.Spec.HealthCheckNodePort == 0 {
		return simulator.HealthCheck{}, invalidf("spec.healthCheckNodePort: is missing, and spec.externalTrafficPolicy is Local")
	}
	return simulator.HealthCheck{Port: int(service.Spec.HealthCheckNodePort), Path: "/healthz"}, nil
}

func affinity(service *corev1.Service) (simulator.Duration, error) {
	switch service.Spec.SessionAffinity {
	case "", corev1.ServiceAffinityNone:
		return 0, nil
	case corev1.ServiceAffinityClientIP:
	default:
		return 0, invalidf("spec.sessionAffinity: %q is unknown", service.Spec.SessionAffinity)
	}
	seconds := corev1.DefaultClientIPServiceAffinitySeconds
	if c := service.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
		seconds = *c.ClientIP.TimeoutSeconds
	}
	return simulator.Duration(time.Duration(seconds) * time.Second), nil
}

// sourceRanges returns the source ranges of a Service. The list is never empty.
// A range that cannot be parsed is an error and is not skipped: without it the
// list could be empty, which would open the Service to everyone.
func sourceRanges(service *corev1.Service) ([]string, error) {
	refuse := func(text string) error {
		return invalidf("spec.loadBalancerSourceRanges: %q is not a range such as 192.0.2.0/24", text)
	}
	texts := service.Spec.LoadBalancerSourceRanges
	if len(texts) == 0 {
		value, ok := AnnotationSourceRanges.of(service)
		if !ok {
			return []string{simulator.Everyone}, nil
		}
		if value == "" {
			return nil, AnnotationSourceRanges.refuse("is empty; remove it, or write %s for everyone", simulator.Everyone)
		}
		refuse = func(text string) error {
			return AnnotationSourceRanges.refuse("%q is not a range such as 192.0.2.0/24", text)
		}
		texts = strings.Split(value, ",")
	}
	var all []string
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, refuse(text)
		}
		all = append(all, prefix.Masked().String())
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// backends returns the IDs of the nodes' instances, in order. It skips nodes of
// other clouds and nodes that do not have a provider ID yet, because the other
// nodes must not wait for them.
func backends(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) []string {
	ids := []string{}
	var others []string
	for _, node := range nodes {
		id, err := instanceID(node.Spec.ProviderID)
		if err != nil {
			others = append(others, node.Name)
			continue
		}
		ids = append(ids, id)
	}
	if len(others) > 0 {
		klog.FromContext(ctx).Info("Nodes without a provider ID of this cloud get no traffic", "service", klog.KObj(service), "nodes", others)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
