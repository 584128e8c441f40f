package simulated

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/provider/kit"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// The tags of a load balancer identify its owner. The cluster's name alone is
// not enough, because two clusters can have the same name. The Service's name
// is not enough either: a Service can be deleted, and another one created with
// the same name.
const (
	// TagCluster is the tag of all resources of a cluster. Its value is the
	// cluster's name.
	TagCluster    = "fairlead.dev/cluster"
	TagServiceUID = "fairlead.dev/service-uid"
	// TagService has the form namespace/name. It is only for people to read.
	TagService = "fairlead.dev/service"
)

// ownership identifies the load balancer of a Service.
func ownership(cluster string, service *corev1.Service) map[string]string {
	return map[string]string{TagCluster: cluster, TagServiceUID: string(service.UID)}
}

// balancerName always returns the same name for the same Service. Two Services
// have different names, even if they are in different clusters.
func balancerName(cluster string, service *corev1.Service) string {
	return uniqueName(service.Namespace+"-"+service.Name, simulator.MaxLoadBalancerName, cluster, string(service.UID))
}

// uniqueName returns a readable name of at most longest bytes. The same arguments
// always make the same name. Different words make different names.
func uniqueName(name string, longest int, words ...string) string {
	const digits = 10
	hash := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	suffix := "-" + hex.EncodeToString(hash[:])[:digits]
	return name[:min(len(name), longest-len(suffix))] + suffix
}

// wantedBy returns the load balancer that a Service wants, except for its
// static IP. The error joins all problems of the Service.
func wantedBy(cluster string, service *corev1.Service, backends []string) (simulator.LoadBalancer, error) {
	l := simulator.LoadBalancer{
		Name:     balancerName(cluster, service),
		Tags:     ownership(cluster, service),
		Backends: backends,
	}
	l.Tags[TagService] = service.Namespace + "/" + service.Name
	var uid, listening, checked, sticky, ranged error
	if service.UID == "" {
		uid = kit.Invalidf("metadata.uid: is empty")
	}
	l.Listeners, listening = listeners(service)
	l.HealthCheck, checked = healthCheck(service)
	l.Affinity, sticky = affinity(service)
	annotations := kit.NewAnnotations(service.Annotations, AnnotationPrefix)
	l.SourceRanges, ranged = sourceRanges(service, annotations)
	l.Drain = drain(annotations)
	annotations.Text(string(AnnotationStaticIP)) // marks the key as known; staticIP reads its value
	return l, kit.Join(uid, checkFamilies(service), listening, checked, sticky, ranged, annotations.Err())
}

func checkFamilies(service *corev1.Service) error {
	families := service.Spec.IPFamilies
	if len(families) > 0 && !slices.Contains(families, corev1.IPv4Protocol) {
		return kit.Invalidf("spec.ipFamilies: the Service has IPv6 only, and load balancers of this cloud have IPv4 only")
	}
	if policy := service.Spec.IPFamilyPolicy; policy != nil && *policy == corev1.IPFamilyPolicyRequireDualStack {
		return kit.Invalidf("spec.ipFamilyPolicy: is RequireDualStack, and load balancers of this cloud have IPv4 only; PreferDualStack is accepted")
	}
	return nil
}

func listeners(service *corev1.Service) ([]simulator.Listener, error) {
	if len(service.Spec.Ports) == 0 {
		return nil, kit.Invalidf("spec.ports: is empty")
	}
	var all []simulator.Listener
	for n, p := range service.Spec.Ports {
		protocol := simulator.Protocol(p.Protocol)
		if protocol == "" {
			protocol = simulator.TCP // the default of the API server
		}
		switch {
		case !slices.Contains(simulator.Protocols(), protocol):
			return nil, kit.Invalidf("spec.ports[%d].protocol: load balancers of this cloud speak TCP and UDP, and not %s", n, protocol)
		case p.NodePort == 0:
			return nil, kit.Invalidf("spec.ports[%d].nodePort: is missing, and load balancers of this cloud forward to node ports; "+
				"spec.allocateLoadBalancerNodePorts must not be false", n)
		}
		all = append(all, simulator.Listener{Protocol: protocol, Port: int(p.Port), BackendPort: int(p.NodePort)})
	}
	return all, nil
}

// healthCheck returns the health check of a Service. It checks the node ports.
// With externalTrafficPolicy Local, it checks kube-proxy's health check port
// instead, because nodes without an endpoint must get no traffic.
func healthCheck(service *corev1.Service) (simulator.HealthCheck, error) {
	if service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		return simulator.HealthCheck{}, nil
	}
	if service.Spec.HealthCheckNodePort == 0 {
		return simulator.HealthCheck{}, kit.Invalidf("spec.healthCheckNodePort: is missing, and spec.externalTrafficPolicy is Local")
	}
	return simulator.HealthCheck{Port: int(service.Spec.HealthCheckNodePort), Path: "/healthz"}, nil
}

func affinity(service *corev1.Service) (simulator.Duration, error) {
	switch service.Spec.SessionAffinity {
	case "", corev1.ServiceAffinityNone:
		return 0, nil
	case corev1.ServiceAffinityClientIP:
	default:
		return 0, kit.Invalidf("spec.sessionAffinity: %q is unknown", service.Spec.SessionAffinity)
	}
	seconds := corev1.DefaultClientIPServiceAffinitySeconds
	if c := service.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
		seconds = *c.ClientIP.TimeoutSeconds
	}
	return simulator.Duration(time.Duration(seconds) * time.Second), nil
}

// drain returns how long removed nodes keep their connections. It returns nil if
// the cloud decides.
func drain(annotations *kit.Annotations) *simulator.Duration {
	d, ok := annotations.Duration(string(AnnotationDrain), 0, maxDrain)
	if !ok {
		return nil
	}
	return (*simulator.Duration)(&d)
}

// sourceRanges returns the source ranges of a Service. The list is never empty.
// A range that cannot be parsed is an error. If it were skipped, the list could
// be empty, and an empty list would open the Service to everyone.
func sourceRanges(service *corev1.Service, annotations *kit.Annotations) ([]string, error) {
	var all []string
	for _, text := range service.Spec.LoadBalancerSourceRanges {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, kit.Invalidf("spec.loadBalancerSourceRanges: %q is not a range such as 192.0.2.0/24", text)
		}
		all = append(all, prefix.Masked().String())
	}
	if len(all) == 0 {
		prefixes, ok := annotations.Prefixes(string(AnnotationSourceRanges))
		if !ok {
			return []string{simulator.Everyone}, nil // if the annotation is refused, wantedBy returns its error
		}
		for _, prefix := range prefixes {
			all = append(all, prefix.String())
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// backends returns the IDs of the nodes' instances, in order. It skips nodes of
// other clouds. It also skips nodes that do not have a provider ID yet, because the
// other nodes must not wait for them.
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

// Annotation is the key of an annotation on a Service that this provider reads. A value
// that cannot be parsed leads to an error that names the key. An unknown key that
// begins with AnnotationPrefix also leads to an error, because it may be misspelled.
type Annotation string

// AnnotationPrefix is the prefix of the keys that only this provider uses.
const AnnotationPrefix = Name + ".fairlead.dev/"

// The annotations.
const (
	// AnnotationStaticIP is the name, ID or address of a static IP that was
	// reserved in the cloud. The load balancer uses that address, and the cloud
	// keeps the address when the Service is deleted. Without the annotation, the
	// load balancer has an address that is released when the load balancer is
	// deleted. The deprecated spec.loadBalancerIP has the same meaning, but its
	// value must be an address.
	AnnotationStaticIP Annotation = AnnotationPrefix + "static-ip"

	// AnnotationDrain is how long a removed node keeps its open connections. It is
	// a duration such as 30s, at most a day; 0s cuts the connections at once.
	// Without the annotation, the cloud decides.
	AnnotationDrain Annotation = AnnotationPrefix + "drain"

	// AnnotationSourceRanges lists the CIDRs from which traffic is accepted,
	// separated by commas. It is read only if spec.loadBalancerSourceRanges is
	// empty. If both are absent, traffic is accepted from everyone. An empty value
	// is an error, because it could mean everyone or no one.
	AnnotationSourceRanges Annotation = corev1.AnnotationLoadBalancerSourceRangesKey
)

// Annotations returns all annotations.
func Annotations() []Annotation {
	return []Annotation{AnnotationStaticIP, AnnotationDrain, AnnotationSourceRanges}
}

// maxDrain is the maximum value of AnnotationDrain.
const maxDrain = 24 * time.Hour

// difference returns the patch that turns a load balancer into the wanted one,
// and the names of the changed fields. If there are no names, nothing has to
// change. The patch removes no tags, because other programs may use them.
func difference(is, wanted simulator.LoadBalancer) (patch simulator.LoadBalancerPatch, changed []string) {
	for key, value := range wanted.Tags {
		if is.Tags[key] != value {
			if patch.Tags == nil {
				patch.Tags = map[string]*string{}
				changed = append(changed, "tags")
			}
			patch.Tags[key] = &value
		}
	}
	if is.StaticIP != wanted.StaticIP {
		patch.StaticIP = &wanted.StaticIP
		changed = append(changed, "static IP")
	}
	if !slices.Equal(is.Listeners, wanted.Listeners) {
		patch.Listeners = wanted.Listeners
		changed = append(changed, "listeners")
	}
	if !slices.Equal(is.Backends, wanted.Backends) {
		patch.Backends = wanted.Backends
		changed = append(changed, "backends")
	}
	if !slices.Equal(is.SourceRanges, wanted.SourceRanges) {
		patch.SourceRanges = wanted.SourceRanges
		changed = append(changed, "source ranges")
	}
	if is.Affinity != wanted.Affinity {
		patch.Affinity = &wanted.Affinity
		changed = append(changed, "affinity")
	}
	if is.HealthCheck != wanted.HealthCheck {
		patch.HealthCheck = &wanted.HealthCheck
		changed = append(changed, "health check")
	}
	if !reflect.DeepEqual(is.Drain, wanted.Drain) {
		patch.Drain = wanted.Drain
		if patch.Drain == nil {
			leaveItToTheCloud := simulator.Duration(-1)
			patch.Drain = &leaveItToTheCloud
		}
		changed = append(changed, "drain")
	}
	return patch, changed
}
