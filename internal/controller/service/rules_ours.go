package service

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AnnotationClass on a Service names the class under which its load balancer was made.
// Only a daemon with ClassesOnly writes the annotation. When the type of the Service
// changes, the API server removes the class. The finalizer is the same for all
// controllers. So without the class, only this annotation shows to whom the load
// balancer belongs.
const AnnotationClass = "fairlead.dev/load-balancer-class"

// servedAs returns the class under which the Service is served, or nil if there is
// none. That is the class in AnnotationClass if the Service has the annotation and
// the finalizer. Otherwise it is the Service's own class.
func servedAs(service *corev1.Service) *string {
	if made := service.Annotations[AnnotationClass]; made != "" && hasFinalizer(service) {
		return &made
	}
	return service.Spec.LoadBalancerClass
}

// serves reports whether Services of this class get their load balancers here. nil
// stands for Services without a class.
func (p Policy) serves(class *string) bool {
	if class == nil {
		return !p.ClassesOnly
	}
	return slices.Contains(p.Classes, *class)
}

// IsServed reports whether the Service gets its load balancer here, and has not got it
// from another controller. It reads only the type, class, finalizers and annotations.
// Other Services are cached without most fields.
func (p Policy) IsServed(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && p.serves(service.Spec.LoadBalancerClass) && p.serves(servedAs(service))
}

// isGivenAway reports whether another controller has to provide the load balancer.
func (p Policy) isGivenAway(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.DeletionTimestamp == nil && !p.serves(service.Spec.LoadBalancerClass)
}

// isOurs reports whether a Service is served here, or has to be cleaned up here. A
// Service has to be cleaned up if it is being deleted or has got another type or class,
// and if its class is one of Policy.Retired. For any other Service, giveUp returns the
// plan (promise S4).
func (p Policy) isOurs(service *corev1.Service) bool {
	class := servedAs(service)
	isLeft := service.DeletionTimestamp != nil || service.Spec.Type != corev1.ServiceTypeLoadBalancer || !isSame(class, service.Spec.LoadBalancerClass)
	return p.serves(class) || isLeft && p.isRetired(service)
}

func isSame(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// isRetired reports whether the class of a Service was served here in the past.
func (p Policy) isRetired(service *corev1.Service) bool {
	class := servedAs(service)
	return class != nil && slices.Contains(p.Retired, *class)
}

// concerns reports whether this controller might have something to do for a Service.
// It returns false for most Services of a cluster.
func (p Policy) concerns(service *corev1.Service) bool {
	return p.isOurs(service) &&
		(service.Spec.Type == corev1.ServiceTypeLoadBalancer || hasFinalizer(service) || len(ownConditions(service)) > 0)
}

// foreignAfter returns the UID of a foreign Service, and the empty string for any
// other. A Service is foreign if the class that it has, or had last, is not served
// here. The parameter before is the previous result. The class has to be remembered
// because the API server removes it when the type changes, and because the finalizer
// does not show which controller serves the Service.
func (p Policy) foreignAfter(before types.UID, service *corev1.Service) types.UID {
	class := service.Spec.LoadBalancerClass
	isServed := p.serves(class) || class != nil && slices.Contains(p.Retired, *class)
	switch {
	case !p.isOurs(service) && !p.isRetired(service):
		return service.UID
	case service.Spec.Type == corev1.ServiceTypeLoadBalancer && isServed, before != service.UID:
		return "" // Only the class counts here. An annotation that names this daemon can be forged or out of date.
	default:
		return before
	}
}

// unnamed returns the write that removes the annotation from the Service, or nil if
// there is nothing to remove.
func unnamed(service *corev1.Service) *string {
	if _, named := service.Annotations[AnnotationClass]; !named {
		return nil
	}
	return new("")
}

// named returns the value that AnnotationClass should have on a Service that has or
// gets the finalizer: the class of the Service, or the empty string to remove the
// annotation. It returns nil if nothing has to be written. A daemon that serves
// Services without a class never writes a class.
func (p Policy) named(service *corev1.Service) *string {
	class, shown := service.Spec.LoadBalancerClass, service.Annotations[AnnotationClass]
	switch {
	case class == nil:
		return unnamed(service)
	case shown == *class:
		return nil
	case p.ClassesOnly:
		return class
	default:
		return unnamed(service)
	}
}

// stale returns the write that removes the annotation after somebody else has removed
// the finalizer. If the annotation stayed, this daemon would treat a later load
// balancer of another daemon as its own. The Service of the last call is checked, too,
// because the informer may have dropped the annotation from the present one.
func (o observed) stale() *string {
	isKept := o.service.Spec.Type == corev1.ServiceTypeLoadBalancer
	switch made := o.memory.service; {
	case made == nil, made.Annotations[AnnotationClass] == "", o.service.DeletionTimestamp != nil, isKept && unnamed(o.service) == nil:
		return nil
	default:
		return new("")
	}
}

func hasFinalizer(service *corev1.Service) bool {
	return slices.Contains(service.Finalizers, Finalizer)
}

// giveUp returns the plan for a Service of another class. Usually, the plan is to leave
// the Service alone. If this process has served the Service before, or if
// AnnotationClass shows that this daemon has served it, giveUp first removes the load
// balancer, the finalizer and the conditions. The address stays, because it now comes
// from the other controller.
func giveUp(o observed) plan {
	had := o.memory.service
	if had == nil && !o.foreign && o.policy.isOurs(o.service) {
		had, o.memory.uid = o.service, o.service.UID
	}
	switch {
	case o.memory.uid == "":
		return leaveAlone(o)
	case had != nil && !o.memory.deleted:
		p := withBackoff(o, plan{do: remove, why: "the Service belongs to another load balancer class now", service: o.withLastStatus(had)})
		p = withPauseBetweenRemovals(o, p)
		p.writes.conditions = nil
		return p
	case hasFinalizer(o.service), len(ownConditions(o.service)) > 0, o.stale() != nil:
		return plan{
			do: release, why: "this daemon provides no load balancer for the Service any more",
			writes: writes{release: hasFinalizer(o.service), class: cmp.Or(unnamed(o.service), o.stale()), drop: ownConditions(o.service)}, memory: o.memory,
		}
	default:
		return plan{do: forget, why: "this daemon has no load balancer for the Service"}
	}
}
