package service

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// AnnotationClass on a Service names the class for which its load balancer was made, or
// is noClass. It is written in the patch that adds the finalizer, and removed in the
// patch that removes the finalizer. When the type of the Service changes, the API server
// removes the class, and the finalizer is the same for all controllers. So only this
// annotation shows to whom the load balancer belongs.
const AnnotationClass = "fairlead.dev/load-balancer-class"

// noClass is the value of AnnotationClass for a load balancer without a class. It is no
// valid class.
const noClass = "-"

// ownerOf returns the class for which the load balancer of the Service was made, or nil
// if there is none: the class in AnnotationClass if the Service has the annotation and
// the finalizer, and otherwise its own class. Upstream writes no annotation.
func ownerOf(service *corev1.Service) *string {
	switch made := service.Annotations[AnnotationClass]; {
	case made == "" || !hasFinalizer(service):
		return service.Spec.LoadBalancerClass
	case made == noClass:
		return nil
	default:
		return &made
	}
}

// serves reports whether Services of this class get their load balancers here. nil
// stands for Services without a class.
func (p Policy) serves(class *string) bool {
	if class == nil {
		return !p.ClassesOnly
	}
	return slices.Contains(p.Classes, *class)
}

// IsServed reports whether the Service gets its load balancer here, maybe after another
// controller has removed the one that it has made. It reads only the type and the class.
// Other Services are cached without most fields.
func (p Policy) IsServed(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && p.serves(service.Spec.LoadBalancerClass)
}

// isRetired reports whether Services of this class got their load balancers here in the
// past.
func (p Policy) isRetired(class *string) bool {
	return class != nil && slices.Contains(p.Retired, *class)
}

// isOurs reports whether a Service is served here, or has to be cleaned up here. The
// latter includes a Service of a class of Policy.Retired that is being deleted, or that
// has got another type or class.
func (p Policy) isOurs(service *corev1.Service) bool {
	owner := ownerOf(service)
	isKept := service.DeletionTimestamp == nil && service.Spec.Type == corev1.ServiceTypeLoadBalancer && isSame(owner, service.Spec.LoadBalancerClass)
	return p.serves(owner) || p.isRetired(owner) && !isKept
}

func isSame(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// isLeft reports whether the Service does not want a load balancer from here any more: it
// is being deleted, or has got another type or class.
func (p Policy) isLeft(service *corev1.Service) bool {
	return service.DeletionTimestamp != nil || !p.IsServed(service)
}

// isForeign reports whether another controller provides the load balancer of a Service
// that wants one, and always has.
func (p Policy) isForeign(service *corev1.Service) bool {
	class := service.Spec.LoadBalancerClass
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && !p.serves(class) && !p.isRetired(class)
}

// foreignAfter returns the UID of a Service whose class, or last class, is not served
// here, and the empty string for any other. The parameter before is the previous result.
// The class has to be remembered because the API server removes it when the type changes,
// and because a controller that writes no annotation may have the same finalizer.
func (p Policy) foreignAfter(before types.UID, service *corev1.Service) types.UID {
	switch {
	case p.isForeign(service):
		return service.UID
	case service.Spec.Type == corev1.ServiceTypeLoadBalancer, before != service.UID:
		return ""
	default:
		return before
	}
}

// isOurs reports whether this daemon acts on the Service. It does if this process has
// done so before, even if somebody has changed the annotation since.
func (o observed) isOurs() bool {
	if o.memory.uid == o.service.UID {
		return true
	}
	return o.policy.isOurs(o.service) && (!o.foreign || o.service.Annotations[AnnotationClass] != "")
}

// concerns reports whether this controller might have something to do for a Service.
// It returns false for most Services of a cluster.
func (p Policy) concerns(service *corev1.Service) bool {
	return p.isOurs(service) &&
		(service.Spec.Type == corev1.ServiceTypeLoadBalancer || hasFinalizer(service) || len(ownConditions(service)) > 0)
}

func hasFinalizer(service *corev1.Service) bool {
	return slices.Contains(service.Finalizers, Finalizer)
}

// withClass adds AnnotationClass to a patch that the plan makes anyway, unless the Service
// has the right value. If the plan has nothing to do, the annotation is written alone: the
// Service has got its finalizer from upstream, or somebody else has changed the
// annotation. It is corrected at most once in showing.PutBackAfter.
func withClass(o observed, p plan) plan {
	class := noClass
	if own := o.service.Spec.LoadBalancerClass; own != nil {
		class = *own
	}
	pause := o.memory.namedAt.Add(showing.PutBackAfter).Sub(o.now)
	switch {
	case o.service.Annotations[AnnotationClass] == class:
		return p
	case p.do == doNothing && pause > 0:
		return p.within(pause)
	case p.do == doNothing:
		p.do, p.why, p.after = publish, "the annotation with the class of the load balancer has to be corrected", 0
	case pause > 0, !p.writes.patches():
		return p
	}
	if p.writes.class = &class; p.do != addFinalizer {
		p.memory.namedAt = o.now
	}
	return p
}

// unnamed returns the write that removes the annotation from the Service, or nil if
// there is nothing to remove.
func unnamed(service *corev1.Service) *string {
	if _, named := service.Annotations[AnnotationClass]; !named {
		return nil
	}
	return new("")
}

// unservedAfter is the time for which the finalizer may hold up the deletion of a
// Service of another class, or its load balancer, before this controller reports it. The
// controller of that class may use the same finalizer, as upstream does, and needs some
// time to clean up.
const unservedAfter = 10 * time.Minute

// isHeld reports whether the finalizer holds up the deletion of the Service, or its load
// balancer here until another controller has removed its own.
func (p Policy) isHeld(service *corev1.Service) bool {
	return hasFinalizer(service) && (service.DeletionTimestamp != nil || p.IsServed(service))
}

// leaveAlone returns the plan to leave a Service of another class alone. If nobody
// removes the finalizer that holds the Service up, an event says who can do so, at most
// once in showing.RepeatAfter, and a condition if the Service is being deleted (promise V1).
func leaveAlone(o observed) plan {
	p := plan{do: doNothing, why: "the Service belongs to another load balancer class", memory: o.memory}
	if !o.policy.isHeld(o.service) {
		p.memory.heldSince = time.Time{}
		return p
	}
	since := &p.memory.heldSince
	if deleted := o.service.DeletionTimestamp; deleted != nil {
		*since = deleted.Time
	} else if since.IsZero() {
		*since = o.now
	}
	if p.after = since.Add(unservedAfter).Sub(o.now); p.after > 0 {
		return p
	}
	p.do, p.why, p.after = wait, "the finalizer holds up a Service of another load balancer class", showing.RepeatAfter
	if r := o.memory.recorded; !r.IsNew(reasonCleanupHeld.Name, o.now) {
		p.after = r.Next().Sub(o.now)
		return p
	}
	cause := unservedCause(o.service)
	p.memory.recorded = o.memory.recorded.With(reasonCleanupHeld.Name, o.now)
	p.writes.events = append(p.writes.events, reasonCleanupHeld.Event(cause.Message))
	if o.service.DeletionTimestamp != nil {
		p.writes.conditions, _ = outdated(o, newCondition(reasonUnserved, metav1.ConditionTrue, cause.Message))
	}
	return p
}
