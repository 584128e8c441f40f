package simulated

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// plain returns the load balancer that webService wants, without name and tags.
func plain(changes ...func(*simulator.LoadBalancer)) simulator.LoadBalancer {
	l := simulator.LoadBalancer{
		Listeners:    []simulator.Listener{{Protocol: simulator.TCP, Port: 80, BackendPort: 30080}},
		Backends:     []string{},
		SourceRanges: []string{simulator.Everyone},
	}
	for _, change := range changes {
		change(&l)
	}
	return l
}

func TestWantedLoadBalancer(t *testing.T) {
	spec := func(change func(*corev1.ServiceSpec)) func(*corev1.Service) {
		return func(s *corev1.Service) { change(&s.Spec) }
	}
	ranges := func(all ...string) func(*simulator.LoadBalancer) {
		return func(l *simulator.LoadBalancer) { l.SourceRanges = all }
	}
	for name, row := range map[string]struct {
		service *corev1.Service
		want    simulator.LoadBalancer
	}{
		"Plain": {webService(), plain()},
		"PortsInTheirOrder": {webService(spec(func(s *corev1.ServiceSpec) {
			s.Ports = []corev1.ServicePort{{Protocol: corev1.ProtocolUDP, Port: 53, NodePort: 30053}, {Port: 53, NodePort: 30054}}
		})), plain(func(l *simulator.LoadBalancer) {
			l.Listeners = []simulator.Listener{{Protocol: simulator.UDP, Port: 53, BackendPort: 30053}, {Protocol: simulator.TCP, Port: 53, BackendPort: 30054}}
		})},
		"LocalAsksKubeProxy": {webService(spec(func(s *corev1.ServiceSpec) {
			s.ExternalTrafficPolicy, s.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 31999
		})), plain(func(l *simulator.LoadBalancer) { l.HealthCheck = simulator.HealthCheck{Port: 31999, Path: "/healthz"} })},
		"ClusterAsksTheNodePorts": {webService(spec(func(s *corev1.ServiceSpec) { s.HealthCheckNodePort = 31999 })), plain()},
		"Affinity": {webService(spec(func(s *corev1.ServiceSpec) {
			s.SessionAffinity = corev1.ServiceAffinityClientIP
			s.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(60))}}
		})), plain(func(l *simulator.LoadBalancer) { l.Affinity = simulator.Duration(time.Minute) })},
		"AffinityByDefaultThreeHours": {webService(spec(func(s *corev1.ServiceSpec) {
			s.SessionAffinity = corev1.ServiceAffinityClientIP
		})), plain(func(l *simulator.LoadBalancer) { l.Affinity = simulator.Duration(3 * time.Hour) })},
		"DualStackGetsIPv4": {webService(spec(func(s *corev1.ServiceSpec) {
			s.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
		})), plain()},
		"RangesInOneForm": {webService(spec(func(s *corev1.ServiceSpec) {
			s.LoadBalancerSourceRanges = []string{" 192.0.2.7/24 ", "10.0.0.0/8", "192.0.2.0/24", "2001:DB8::/32"}
		})), plain(ranges("10.0.0.0/8", "192.0.2.0/24", "2001:db8::/32"))},
		"RangesOfIPv6OnlyAreNotEveryone": {webService(spec(func(s *corev1.ServiceSpec) {
			s.LoadBalancerSourceRanges = []string{"2001:db8::/32"}
		})), plain(ranges("2001:db8::/32"))},
		"RangesByAnnotation": {webService(annotated(AnnotationSourceRanges, "192.0.2.0/24, 10.0.0.0/8")), plain(ranges("10.0.0.0/8", "192.0.2.0/24"))},
		"RangesOfTheSpecComeFirst": {
			webService(annotated(AnnotationSourceRanges, "10.0.0.0/8"), spec(func(s *corev1.ServiceSpec) { s.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} })),
			plain(ranges("192.0.2.0/24")),
		},
		"Drain":                  {webService(annotated(AnnotationDrain, "1m30s")), plain(func(l *simulator.LoadBalancer) { l.Drain = new(simulator.Duration(90 * time.Second)) })},
		"DrainOfZero":            {webService(annotated(AnnotationDrain, "0s")), plain(func(l *simulator.LoadBalancer) { l.Drain = new(simulator.Duration(0)) })},
		"AnnotationsOfOthers":    {webService(annotated("example.com/drain", "whatever")), plain()},
		"PolicyIsNotTheClouds":   {webService(spec(func(s *corev1.ServiceSpec) { s.PublishNotReadyAddresses = true })), plain()},
		"NoFamilyIsAsGoodAsIPv4": {webService(spec(func(s *corev1.ServiceSpec) { s.IPFamilies = nil })), plain()},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBalancing(t, simulator.Config{})
			b.costs(t, 1, "creation", func() { b.ensure(t, row.service, nil) })
			got := b.only(t)
			row.want.ID, row.want.Name, row.want.State, row.want.Address, row.want.Tags = got.ID, got.Name, got.State, got.Address, got.Tags
			diff(t, "created", row.want, got)
			b.costs(t, 0, "again", func() { b.ensure(t, row.service, nil) })
			// Then change it back to a plain one.
			b.ensure(t, webService(), nil)
			want := plain()
			want.ID, want.Name, want.State, want.Address, want.Tags = got.ID, got.Name, got.State, got.Address, got.Tags
			diff(t, "back to the defaults", want, b.only(t))
			b.ensure(t, row.service, nil)
			diff(t, "changed", row.want, b.only(t))
		})
	}
}

func TestServiceThatIsRefused(t *testing.T) {
	spec := func(change func(*corev1.ServiceSpec)) *corev1.Service {
		return webService(func(s *corev1.Service) { change(&s.Spec) })
	}
	for name, row := range map[string]struct {
		service *corev1.Service
		want    string
	}{
		"NoPorts": {spec(func(s *corev1.ServiceSpec) { s.Ports = nil }), "spec.ports: is empty"},
		"SCTP": {spec(func(s *corev1.ServiceSpec) {
			s.Ports = append(s.Ports, corev1.ServicePort{Protocol: corev1.ProtocolSCTP, Port: 7, NodePort: 30007})
		}), "spec.ports[1].protocol: load balancers of this cloud speak TCP and UDP, and not SCTP"},
		"NoNodePort": {
			spec(func(s *corev1.ServiceSpec) { s.Ports[0].NodePort = 0 }),
			"spec.ports[0].nodePort: is missing, and load balancers of this cloud forward to node ports; spec.allocateLoadBalancerNodePorts must not be false",
		},
		"IPv6Only": {
			spec(func(s *corev1.ServiceSpec) { s.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} }),
			"spec.ipFamilies: the Service has IPv6 only, and load balancers of this cloud have IPv4 only",
		},
		"DualStackIsRequired": {
			spec(func(s *corev1.ServiceSpec) {
				policy := corev1.IPFamilyPolicyRequireDualStack
				s.IPFamilies, s.IPFamilyPolicy = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, &policy
			}),
			"spec.ipFamilyPolicy: is RequireDualStack, and load balancers of this cloud have IPv4 only; PreferDualStack is accepted",
		},
		"LocalWithoutHealthCheckNodePort": {
			spec(func(s *corev1.ServiceSpec) { s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }),
			"spec.healthCheckNodePort: is missing, and spec.externalTrafficPolicy is Local",
		},
		"UnknownAffinity": {spec(func(s *corev1.ServiceSpec) { s.SessionAffinity = "Cookie" }), `spec.sessionAffinity: "Cookie" is unknown`},
		"OneBadRange": {
			spec(func(s *corev1.ServiceSpec) { s.LoadBalancerSourceRanges = []string{"192.0.2.0/24", "192.0.2.1"} }),
			`spec.loadBalancerSourceRanges: "192.0.2.1" is not a range such as 192.0.2.0/24`,
		},
		"BadRangeInTheAnnotation": {
			webService(annotated(AnnotationSourceRanges, "192.0.2.0/24,")),
			`annotation service.beta.kubernetes.io/load-balancer-source-ranges: "192.0.2.0/24," is refused: it must be CIDRs such as 192.0.2.0/24, separated by commas`,
		},
		"EmptyRangesInTheAnnotation": {
			webService(annotated(AnnotationSourceRanges, " ")),
			`annotation service.beta.kubernetes.io/load-balancer-source-ranges: " " is refused: it must be CIDRs such as 192.0.2.0/24, separated by commas`,
		},
		"BadDrain":          {webService(annotated(AnnotationDrain, "soon")), `annotation simulated.fairlead.dev/drain: "soon" is refused: it must be a duration from 0s to 24h0m0s, such as 30s`},
		"NegativeDrain":     {webService(annotated(AnnotationDrain, "-1s")), `annotation simulated.fairlead.dev/drain: "-1s" is refused: it must be a duration from 0s to 24h0m0s, such as 30s`},
		"UnknownAnnotation": {webService(annotated("simulated.fairlead.dev/drian", "30s")), "annotation simulated.fairlead.dev/drian: is unknown; did you mean simulated.fairlead.dev/drain?"},
		"AllAtOnce": {
			webService(annotated(AnnotationDrain, "soon"), func(s *corev1.Service) { s.Spec.Ports = nil }),
			`spec.ports: is empty; annotation simulated.fairlead.dev/drain: "soon" is refused: it must be a duration from 0s to 24h0m0s, such as 30s`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBalancing(t, simulator.Config{})
			_, err := b.balancers.EnsureLoadBalancer(t.Context(), cluster, row.service, nil)
			diff(t, "error", row.want, text(err))
			diff(t, "class", provider.Invalid, b.cloud.ClassifyError(err).Kind)
			diff(t, "nothing is created", 0, len(b.all(t)))

			b.ensure(t, webService(), nodesOf(1))
			diff(t, "its nodes are still updated", nil, b.balancers.UpdateLoadBalancer(t.Context(), cluster, row.service, nodesOf(2)))
			diff(t, "backends", []string{"i-00000002"}, b.only(t).Backends)
			diff(t, "it can still be deleted", nil, b.balancers.EnsureLoadBalancerDeleted(t.Context(), cluster, row.service))
			diff(t, "left", 0, len(b.all(t)))
		})
	}
}

func TestAnnotationsAreAll(t *testing.T) {
	seen := map[Annotation]bool{}
	for _, a := range Annotations() {
		seen[a] = true
	}
	diff(t, "annotations", map[Annotation]bool{AnnotationStaticIP: true, AnnotationDrain: true, AnnotationSourceRanges: true}, seen)
}
