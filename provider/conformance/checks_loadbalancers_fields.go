package conformance

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const costIgnored = "A field of the Service has no effect, and no event says so (kubernetes/kubernetes#123714)."

// fieldChecks returns the checks of the fields of a Service: one for each field with an ID,
// and some for several fields.
func fieldChecks() []Check {
	all := slices.Clone(manyFieldChecks)
	for _, f := range fields {
		if f.id == "" {
			continue
		}
		title := f.name
		if rest, article := strings.CutPrefix(title, "a "); article {
			title = "A " + rest
		}
		all = append(all, Check{
			ID: "loadbalancers/" + f.id, Level: Extended, Needs: needs(needMachines, needViewer), Source: sourceField, Feature: f.feature,
			Title: title + " works, or is refused with an error or an Event",
			Cost:  costIgnored,
			run:   balanced(func(b *balancing) { b.judge(f) }),
		})
	}
	return all
}

var manyFieldChecks = []Check{
	{
		ID: "loadbalancers/ports", Level: Core, Needs: needs(needMachines, needViewer), Source: sourceEnsure,
		Title: "If ports are added, changed or removed, the load balancer changes",
		Cost:  "A port of the Service cannot be reached, or a removed port can still be reached.",
		run: balanced(func(b *balancing) {
			s, nodes := b.newService("a"), b.nodes(1)
			http, https := port("http", corev1.ProtocolTCP, 80, 30080), port("https", corev1.ProtocolTCP, 443, 30443)
			steps := [][]corev1.ServicePort{
				{http},
				{http, https}, // added
				{http, port("tls", corev1.ProtocolTCP, 443, 30443)},  // renamed
				{port("http", corev1.ProtocolTCP, 80, 30081), https}, // with another node port
				{https}, // removed
				{port("https", corev1.ProtocolTCP, 8443, 30443)}, // with another number
			}
			if b.supports(UDP) {
				steps = append(steps, []corev1.ServicePort{port("https", corev1.ProtocolUDP, 8443, 30443)})
			}
			for _, ports := range steps {
				s.Spec.Ports = ports
				b.ensured(s, nodes)
				b.only("after "+b.call("EnsureLoadBalancer", s, nodes)+" = nil", b.hasPorts(s))
			}
		}),
	},
	{
		ID: "loadbalancers/source-ranges-change", Level: Extended, Needs: needs(needMachines, needViewer), Source: sourceField, Feature: SourceRanges,
		Title: "If source ranges are set, changed or removed, the load balancer changes",
		Cost:  "A Service that should be closed is open, and no event says so (kubernetes/kubernetes#123714).",
		run: balanced(func(b *balancing) {
			b.mustSupport(SourceRanges)
			s, nodes := b.newService("a"), b.nodes(1)
			for _, ranges := range [][]string{{"198.51.100.0/24"}, {"198.51.100.0/25", "203.0.113.0/24"}, nil} {
				s.Spec.LoadBalancerSourceRanges = ranges
				b.ensured(s, nodes)
				b.only("after "+b.call("EnsureLoadBalancer", s, nodes)+" = nil", func(l LoadBalancer) error {
					if !sameSet(l.SourceRanges, ranges) {
						return fmt.Errorf("accepts traffic from %v and not from %v, where nothing stands for everywhere,", l.SourceRanges, ranges)
					}
					return nil
				})
			}
		}),
	},
	{
		ID: "loadbalancers/static-ip-reserved", Level: Extended, Needs: needs(needMachines, needReserver), Source: sourceField, Feature: StaticIP,
		Title: "A load balancer gets the reserved address that spec.loadBalancerIP names",
		Cost:  "DNS points to an address that the Service does not have.",
		run: balanced(func(b *balancing) {
			b.mustSupport(StaticIP)
			address := b.address(b.name("ip"))
			s, nodes := b.newService("a"), b.nodes(1)
			s.Spec.LoadBalancerIP = address.IP
			if status := b.ensured(s, nodes); !slices.Contains(ingress(status), address.IP) {
				b.failf("%s = %s; want the address %s", b.call("EnsureLoadBalancer", s, nodes), answered(status, nil), address.IP)
			}
		}),
	},
	{
		ID: "loadbalancers/not-ignored", Level: Core, Needs: needs(needMachines, needViewer), Source: sourceField,
		Title: "A field that is not declared as supported works, or is refused with an error or an Event",
		Cost:  costIgnored,
		run: balanced(func(b *balancing) {
			b.judge(slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return b.supports(f.feature) })...)
		}),
	},
	{
		ID: "loadbalancers/annotations", Level: Extended, Needs: needs(needMachines, needViewer), Source: "the vendor's own documentation of its annotations",
		Title: "The vendor's annotations work, or are refused with an error that names them",
		Cost:  costIgnored,
		run: balanced(func(b *balancing) {
			if len(b.target.Services) == 0 {
				b.notRunf("needs Target.Services, with the vendor's own annotations")
			}
			nodes := b.nodes(1)
			for n, shape := range b.target.Services {
				s := b.newService(fmt.Sprintf("s%d", n))
				plain := s.DeepCopy()
				shape.Change(s)
				_, err := b.tried(s, nodes)
				if problem := b.shaped(shape, plain, nodes, err); problem != nil {
					b.failf("%s = %v for the Service %q of the target: %v", b.call("EnsureLoadBalancer", s, nodes), shown(err), shape.Name, problem)
				}
				b.deleted(s)
			}
		}),
	},
}

// field is a field of Services that a provider may implement or refuse.
type field struct {
	id      string // name of its check; empty if only the check "not-ignored" tries it
	feature Feature
	name    string
	set     func(*corev1.Service)
	// works reports whether the load balancer has what the field asks for.
	works func(*corev1.Service, LoadBalancer, *corev1.LoadBalancerStatus) bool
}

var fields = []field{
	{"udp", UDP, "a port of protocol UDP", setPorts(port("dns", corev1.ProtocolUDP, 53, 30053)), asPorts},
	{"mixed-protocols", MixedProtocol, "a mix of TCP and UDP ports", setPorts(port("dns", corev1.ProtocolUDP, 53, 30053), port("dns-tcp", corev1.ProtocolTCP, 53, 30054)), asPorts},
	{"sctp", SCTP, "a port of protocol SCTP", setPorts(port("diameter", corev1.ProtocolSCTP, 3868, 30068)), asPorts},
	{"source-ranges", SourceRanges, "spec.loadBalancerSourceRanges", func(s *corev1.Service) {
		s.Spec.LoadBalancerSourceRanges = []string{someRange}
	}, asRange},
	{"affinity", SessionAffinity, "spec.sessionAffinity", func(s *corev1.Service) {
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(600))}}
	}, func(_ *corev1.Service, l LoadBalancer, _ *corev1.LoadBalancerStatus) bool {
		return l.AffinitySeconds > 0
	}},
	{"etp-local", ETPLocal, "spec.externalTrafficPolicy Local", func(s *corev1.Service) {
		s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 32100
	}, func(s *corev1.Service, l LoadBalancer, _ *corev1.LoadBalancerStatus) bool {
		return l.HealthCheckPort == s.Spec.HealthCheckNodePort
	}},
	{"ipv6", IPv6, "spec.ipFamilies IPv6", func(s *corev1.Service) {
		s.Spec.IPFamilies, s.Spec.ClusterIP, s.Spec.ClusterIPs = []corev1.IPFamily{corev1.IPv6Protocol}, "2001:db8::10", []string{"2001:db8::10"}
	}, asFamilies},
	{"dual-stack", DualStack, "spec.ipFamilyPolicy RequireDualStack", func(s *corev1.Service) {
		s.Spec.IPFamilies, s.Spec.IPFamilyPolicy = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, new(corev1.IPFamilyPolicyRequireDualStack)
		s.Spec.ClusterIPs = append(s.Spec.ClusterIPs, "2001:db8::10")
	}, asFamilies},
	{"static-ip", StaticIP, "spec.loadBalancerIP with an address that is not reserved", func(s *corev1.Service) {
		s.Spec.LoadBalancerIP = "192.0.2.77"
	}, func(s *corev1.Service, _ LoadBalancer, status *corev1.LoadBalancerStatus) bool {
		return slices.Contains(ingress(status), s.Spec.LoadBalancerIP)
	}},
	{"", "", "spec.allocateLoadBalancerNodePorts false", func(s *corev1.Service) {
		s.Spec.AllocateLoadBalancerNodePorts = new(false)
		s.Spec.Ports[0].NodePort = 0
	}, asPorts},
	{"", "", "the annotation " + corev1.AnnotationLoadBalancerSourceRangesKey, func(s *corev1.Service) {
		s.Annotations = map[string]string{corev1.AnnotationLoadBalancerSourceRangesKey: someRange}
	}, asRange},
}

func setPorts(all ...corev1.ServicePort) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Ports = slices.Clone(all) }
}

// asPorts reports whether the load balancer has a listener for each port of the Service,
// and no other one.
func asPorts(s *corev1.Service, l LoadBalancer, _ *corev1.LoadBalancerStatus) bool {
	return len(l.Listeners) == len(s.Spec.Ports) && !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
		return !slices.ContainsFunc(l.Listeners, func(is Listener) bool {
			return is.Protocol == p.Protocol && is.Port == p.Port && (is.Direct || is.NodePort == p.NodePort)
		})
	})
}

// hasPorts returns a function for the method only. It requires the ports of the Service.
func (b *balancing) hasPorts(s *corev1.Service) func(LoadBalancer) error {
	return func(l LoadBalancer) error {
		if !asPorts(s, l, nil) {
			return fmt.Errorf("has the listeners %v", l.Listeners)
		}
		return nil
	}
}

const someRange = "198.51.100.0/24"

func asRange(_ *corev1.Service, l LoadBalancer, _ *corev1.LoadBalancerStatus) bool {
	return slices.Equal(l.SourceRanges, []string{someRange})
}

// asFamilies reports whether the status has an address of each family of the Service.
// A host name is not resolved, and counts for all families.
func asFamilies(s *corev1.Service, _ LoadBalancer, status *corev1.LoadBalancerStatus) bool {
	has := map[corev1.IPFamily]bool{}
	for _, address := range ingress(status) {
		ip, err := netip.ParseAddr(address)
		if err != nil {
			return true
		}
		has[corev1.IPv6Protocol] = has[corev1.IPv6Protocol] || ip.Is6()
		has[corev1.IPv4Protocol] = has[corev1.IPv4Protocol] || ip.Is4()
	}
	return !slices.ContainsFunc(s.Spec.IPFamilies, func(f corev1.IPFamily) bool { return !has[f] })
}

// supports reports whether the target declares the feature as supported.
func (t *trial) supports(f Feature) bool {
	return f != "" && slices.Contains(t.target.Features.Supported, f)
}

// mustSupport ends the check unless the target declares the feature as supported.
func (t *trial) mustSupport(f Feature) {
	if !t.supports(f) {
		t.notRunf("needs a target that declares %s as supported", f)
	}
}

// judge requires that each of the fields works or is refused.
func (b *balancing) judge(all ...field) {
	plain, nodes := b.newService("plain"), b.nodes(1)
	if _, ok := b.world.(Announcer); ok {
		b.ensured(plain, nodes)
		b.deleted(plain)
	}
	for _, f := range all {
		s := b.newService("f")
		f.set(s)
		status, err := b.tried(s, nodes)
		b.judgeOne(f, s, plain, ensuring{b.call("EnsureLoadBalancer", s, nodes) + " = " + answered(status, err), status, err})
		b.deleted(s)
	}
}

// judgeOne judges one field of the Service by a call of EnsureLoadBalancer. A supported
// field must work, except a static IP: nobody has reserved that address, so the provider may
// refuse it.
func (b *balancing) judgeOne(f field, s, plain *corev1.Service, o ensuring) {
	mayRefuse := !b.supports(f.feature) || f.feature == StaticIP
	_, seesEvents := b.world.(Announcer)
	ignored := b.await(func() error {
		if o.err != nil || mayRefuse && seesEvents && b.warned(s, plain) {
			return nil //nolint:nilerr // an error ignores nothing
		}
		_, err := b.single("after "+o.call, func(l LoadBalancer) error {
			if !f.works(s, l, o.status) {
				return fmt.Errorf("is %+v, so %s is ignored,", l, f.name)
			}
			return nil
		})
		return err
	})
	switch {
	case o.err != nil && !mayRefuse:
		b.failf("%s, although the target declares %s as supported", o.call, f.feature)
	case ignored != nil && mayRefuse && !seesEvents:
		b.unproved(fmt.Sprintf("%v, without an error; whether an Event says so can only be seen with an Announcer", ignored))
	case ignored != nil && mayRefuse:
		b.failf("%v, and neither an error nor an Event says so", ignored)
	case ignored != nil:
		b.failf("%v, although the target declares %s as supported", ignored, f.feature)
	}
}

// ensuring is a call of EnsureLoadBalancer and its result.
type ensuring struct {
	call   string
	status *corev1.LoadBalancerStatus
	err    error
}

// warned reports whether the provider has warned about the Service, and not in the same
// words about the plain one. Some providers warn about each Service.
func (b *balancing) warned(s, plain *corev1.Service) bool {
	usual := b.warnings(plain)
	return slices.ContainsFunc(b.warnings(s), func(w string) bool { return !slices.Contains(usual, w) })
}

// warnings returns the warnings about the Service without the words that differ between two
// Services: its name, and all words with a digit, such as IDs and times.
func (b *balancing) warnings(s *corev1.Service) []string {
	said, err := as[Announcer](b.trial).Warnings(b.ctx, s)
	b.must("warnings about Service "+s.Name, err)
	all := make([]string, len(said))
	for n, text := range said {
		words := strings.Fields(strings.ReplaceAll(text, s.Name, ""))
		all[n] = strings.Join(slices.DeleteFunc(words, func(w string) bool { return strings.ContainsAny(w, "0123456789") }), " ")
	}
	return all
}

// shaped returns an error if the provider's answer for one of Target.Services is
// wrong.
func (b *balancing) shaped(shape Shape, plain *corev1.Service, nodes []*corev1.Node, err error) error {
	switch {
	case shape.Want == Works && err != nil:
		return errors.New("want nil")
	case shape.Want == Refused && err == nil:
		return errors.New("want an error")
	case shape.Want == Refused:
		if word := unmentioned(err, shape.Mentions); word != "" {
			return fmt.Errorf("want an error that names %q", word)
		}
	case shape.Want == NotIgnored && err == nil:
		with := b.only("for this Service", nil)
		b.ensured(plain, nodes)
		if without := b.only("for this Service", nil); reflect.DeepEqual(with, without) {
			return fmt.Errorf("the load balancer is %+v, and the same without its annotations", with)
		}
	}
	return nil
}
