package service

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// Conditions on a Service. KEP-4631 has defined LoadBalancerServing and
// LoadBalancerProvisioning. The controller writes these two only if this provider
// provides the load balancer. The conditions have no observedGeneration, because a
// Service has no generation. So nobody can see whether a condition is older than the
// spec.
const (
	// ConditionServing reports whether there is a load balancer with an address, and
	// with nodes behind it.
	ConditionServing = mark.ServiceServing
	// ConditionProvisioning is True while the cloud is being brought in line with
	// the Service.
	ConditionProvisioning = mark.ServiceProvisioning
	// ConditionCleanupHeld is True on a Service whose class is not served here, and
	// whose deletion the finalizer holds up. KEP-4631 does not have this condition.
	// This controller writes no other condition on such a Service.
	ConditionCleanupHeld = mark.ServiceCleanupHeld
)

// Reasons of events. Upstream has the same names, except for the last six.
var (
	reasonEnsuring = message.Reason{
		Name: "EnsuringLoadBalancer", On: "Service", Type: corev1.EventTypeNormal,
		When: "The provider is about to be called for a new or changed Service.",
	}
	reasonEnsured = message.Reason{
		Name: "EnsuredLoadBalancer", On: "Service", Type: corev1.EventTypeNormal,
		When: "The load balancer has been created, or has been changed to match the Service.",
	}
	reasonDeleting = message.Reason{
		Name: "DeletingLoadBalancer", On: "Service", Type: corev1.EventTypeNormal,
		When: "The provider is about to be called because the Service is being deleted, or has another type or class now.",
	}
	reasonDeleted = message.Reason{
		Name: "DeletedLoadBalancer", On: "Service", Type: corev1.EventTypeNormal,
		When: "The provider has confirmed that the load balancer is gone.",
	}
	reasonUpdated = message.Reason{
		Name: "UpdatedLoadBalancer", On: "Service", Type: corev1.EventTypeNormal,
		When: "The nodes behind the load balancer have changed.",
	}
	reasonUnavailable = message.Reason{
		Name: "UnAvailableLoadBalancer", On: "Service", Type: corev1.EventTypeWarning,
		When: "The load balancer has no node behind it.",
		Do:   "Check the nodes: none is initialised, or all are excluded by a label or a taint.",
	}
	reasonSyncFailed = message.Reason{
		Name: "SyncLoadBalancerFailed", On: "Service", Type: corev1.EventTypeWarning,
		When: "A call to the provider has failed, or the finalizer or the status could not be written.",
		Do:   "Read the message. If a call has failed, check the cloud. If a write has failed, check the API server, the webhooks and the RBAC rules.",
	}
	reasonUpdateFailed = message.Reason{
		Name: "UpdateLoadBalancerFailed", On: "Service", Type: corev1.EventTypeWarning,
		When: "The nodes behind the load balancer could not be changed. The daemon calls EnsureLoadBalancer next.",
		Do:   "Nothing at first. If it lasts, read the cause in the condition LoadBalancerProvisioning.",
	}
	reasonDeleteFailed = message.Reason{
		Name: "DeleteLoadBalancerFailed", On: "Service", Type: corev1.EventTypeWarning,
		When: "The load balancer of a Service that no longer exists could not be deleted.",
		Do:   "Read the message, and check the cloud. Another Service with the name waits.",
	}
	reasonContested = message.Reason{
		Name: "LoadBalancerStatusContested", On: "Service", Type: corev1.EventTypeWarning,
		When: "Somebody else has removed the finalizer or changed the address.",
		Do:   "Find the field manager that the message names. If another controller serves the Service, set spec.loadBalancerClass.",
	}
	reasonQueued = message.Reason{
		Name: "LoadBalancerQueued", On: "Service", Type: corev1.EventTypeWarning,
		When: "The Service has waited for a minute, because calls for other Services are under way.",
		Do:   "If the provider allows concurrent calls, increase --concurrent-service-syncs.",
	}
	reasonEditedOften = message.Reason{
		Name: "LoadBalancerEditedOften", On: "Service", Type: corev1.EventTypeWarning,
		When: "The Service is edited so often that the call for its last edit has to wait for more than 30 seconds.",
		Do:   "Find what changes the Service all the time, for example with kubectl get service --watch --show-managed-fields -o yaml.",
	}
	reasonNeverMade = message.Reason{
		Name: "LoadBalancerNeverMade", On: "Service", Type: corev1.EventTypeWarning,
		When: "The Service never got a load balancer. The provider could not delete it and finds none, so the deletion of the Service was finished.",
		Do:   "Check in the cloud that nothing was left behind, for example an address or a firewall rule.",
	}
	reasonBackendsInvalid = message.Reason{
		Name: "LoadBalancerBackendsInvalid", On: "Service", Type: corev1.EventTypeWarning,
		When: "The annotation " + AnnotationBackends + " has a value that can have no effect, so the flag --service-backends decides.",
		Do:   "Read the message, and correct or remove the annotation.",
	}
	reasonCleanupHeld = message.Reason{
		Name: "LoadBalancerCleanupHeld", On: "Service", Type: corev1.EventTypeWarning,
		When: "The finalizer has held up the deletion of a Service, or its load balancer here, for 10 minutes, because the controller of another class has to clean up first.",
		Do:   "Start the controller of that class. If this daemon served the class before, name the class in --load-balancer-class-cleanup.",
	}
)

// Reasons of the condition LoadBalancerServing.
var (
	reasonReady = message.Reason{
		Name: "Ready", On: "Service", Condition: ConditionServing,
		When: "There is a load balancer with an address and nodes behind it.",
	}
	reasonNotProvisioned = message.Reason{
		Name: "NotProvisioned", On: "Service", Condition: ConditionServing,
		When: "There is no load balancer yet.",
		Do:   "Do what the message says.",
	}
	reasonNoAddress = message.Reason{
		Name: "NoAddress", On: "Service", Condition: ConditionServing,
		When: "The load balancer exists, but the provider has not returned an address.",
		Do:   "Check the cloud. Some clouds assign the address late.",
	}
	reasonNoNodes = message.Reason{
		Name: "NoNodes", On: "Service", Condition: ConditionServing,
		When: "No node is behind the load balancer.",
		Do:   "Check the nodes: none is initialised, or all are excluded by a label or a taint.",
	}
)

// Reasons of the condition LoadBalancerProvisioning.
var (
	reasonProvisioned = message.Reason{
		Name: "Provisioned", On: "Service", Condition: ConditionProvisioning,
		When: "The load balancer matches the Service.",
	}
	reasonFirstCall = message.Reason{
		Name: "Ensuring", On: "Service", Condition: ConditionProvisioning,
		When: "The provider is about to be called for the first time.",
	}
	reasonInProgress = message.Reason{
		Name: "InProgress", On: "Service", Condition: ConditionProvisioning,
		When: "A call to the provider has lasted for more than 30 seconds.",
		Do:   "Nothing, unless it lasts.",
	}
	reasonEdits = message.Reason{
		Name: "EditedOften", On: "Service", Condition: ConditionProvisioning,
		When: "The Service is edited so often that the call for its last edit has to wait for more than 30 seconds.",
		Do:   "Find what changes the Service all the time.",
	}
	reasonPending = message.Reason{
		Name: "CloudPending", On: "Service", Condition: ConditionProvisioning,
		When: "The provider has asked to be called again later.",
		Do:   "Nothing, unless it lasts.",
	}
	reasonDenied = message.Reason{
		Name: "CloudDenied", On: "Service", Condition: ConditionProvisioning,
		When: "The cloud denies access.",
		Do:   "Check the credentials of the cloud-controller-manager and what they allow.",
	}
	reasonThrottled = message.Reason{
		Name: "CloudThrottled", On: "Service", Condition: ConditionProvisioning,
		When: "The cloud's request quota is used up.",
		Do:   "Find out what else uses this account's request quota.",
	}
	reasonCloudDown = message.Reason{
		Name: "CloudUnavailable", On: "Service", Condition: ConditionProvisioning,
		When: "The cloud cannot be reached or has an internal error.",
		Do:   "Check the status of the cloud.",
	}
	reasonRejected = message.Reason{
		Name: "CloudRejected", On: "Service", Condition: ConditionProvisioning,
		When: "The cloud rejects what the Service asks for.",
		Do:   "Change the Service. The new version is tried at once.",
	}
	reasonConflict = message.Reason{
		Name: "CloudConflict", On: "Service", Condition: ConditionProvisioning,
		When: "The load balancer, or something that it needs, is locked or busy in the cloud.",
		Do:   "Nothing at first. If it lasts, check in the cloud what locks the load balancer.",
	}
	reasonQuota = message.Reason{
		Name: "CloudQuotaExceeded", On: "Service", Condition: ConditionProvisioning,
		When: "The account's quota for something that the Service needs is used up, for example for load balancers or addresses.",
		Do:   "Have the quota raised, or delete what is not needed any more.",
	}
	reasonSlow = message.Reason{
		Name: "CloudSlow", On: "Service", Condition: ConditionProvisioning,
		When: "An earlier call about this Service has still not returned, long after its deadline.",
		Do:   "If it lasts, restart the daemon.",
	}
	reasonTimedOut = message.Reason{
		Name: "CloudTimedOut", On: "Service", Condition: ConditionProvisioning,
		When: "A call has not returned by its deadline (--cloud-mutation-timeout).",
		Do:   "Check the cloud. The call is retried.",
	}
	reasonPanicked = message.Reason{
		Name: "ProviderPanicked", On: "Service", Condition: ConditionProvisioning,
		When: "The provider's code has panicked.",
		Do:   "Report it to the author of the provider, with the stack from the log.",
	}
	reasonNotImplemented = message.Reason{
		Name: "NotImplemented", On: "Service", Condition: ConditionProvisioning,
		When: "The provider does not implement what the Service needs.",
		Do:   "Change the Service, or set a spec.loadBalancerClass that another controller serves.",
	}
	reasonCloudFailed = message.Reason{
		Name: "CloudFailed", On: "Service", Condition: ConditionProvisioning,
		When: "A call to the provider has failed for a reason that has no other entry here.",
		Do:   "Do what the message says.",
	}
)

// reasonUnserved is the reason of the condition LoadBalancerCleanupHeld.
var reasonUnserved = message.Reason{
	Name: "ClassNotServed", On: "Service", Condition: ConditionCleanupHeld,
	When: "The finalizer has held up the deletion of the Service for 10 minutes, and this daemon does not serve the Service's class.",
	Do:   "Start the controller of that class. If this daemon served the class before, name the class in --load-balancer-class-cleanup.",
}

// causes are the causes to show for failed calls, by the kind of the failure.
var causes = map[cloud.Kind]message.Cause{
	cloud.Pending:        reasonPending.Cause("The provider has asked to be called again later."),
	cloud.Denied:         reasonDenied.Cause("The cloud denies access. Check the credentials of the cloud-controller-manager and what they allow."),
	cloud.Throttled:      reasonThrottled.Cause("The cloud's request quota is used up. Something else may be using this account's request quota."),
	cloud.Unavailable:    reasonCloudDown.Cause("The cloud cannot be reached or has an internal error."),
	cloud.Invalid:        reasonRejected.Cause("The cloud rejects what the Service asks for. Change the Service."),
	cloud.Conflict:       reasonConflict.Cause("The load balancer, or something that it needs, is locked or busy in the cloud. The Service does not have to be changed."),
	cloud.QuotaExceeded:  reasonQuota.Cause("The account's quota for something that the Service needs is used up. Have the quota raised, or delete what is not needed any more."),
	cloud.Slow:           reasonSlow.Cause("An earlier call about this Service has not returned."),
	cloud.TimedOut:       reasonTimedOut.Cause("The cloud has not answered in time."),
	cloud.Panicked:       reasonPanicked.Cause("The provider's code has panicked. The log has its stack. This is a bug in the provider."),
	cloud.NotImplemented: reasonNotImplemented.Cause("The provider does not implement what the Service needs."),
	cloud.Failed:         reasonCloudFailed.Cause("The provider has returned an error whose kind the daemon does not know. The text of the error follows."),
}

// Reasons returns every reason that this controller shows on a Service.
func Reasons() []message.Reason {
	return []message.Reason{
		reasonEnsuring, reasonEnsured, reasonUpdated, reasonUnavailable, reasonDeleting, reasonDeleted,
		reasonSyncFailed, reasonUpdateFailed, reasonDeleteFailed, reasonContested, reasonQueued, reasonEditedOften, reasonNeverMade, reasonBackendsInvalid, reasonCleanupHeld,
		reasonReady, reasonNotProvisioned, reasonNoAddress, reasonNoNodes,
		reasonProvisioned, reasonFirstCall, reasonInProgress, reasonEdits, reasonPending, reasonDenied, reasonThrottled, reasonCloudDown,
		reasonRejected, reasonConflict, reasonQuota, reasonTimedOut, reasonSlow, reasonPanicked, reasonNotImplemented, reasonCloudFailed,
		reasonUnserved,
	}
}

// The following functions return the same events as upstream (upstream-behaviour
// 6.5).

func ensuringEvent() message.Event { return reasonEnsuring.Event("Ensuring load balancer") }

func ensuredEvent() message.Event { return reasonEnsured.Event("Ensured load balancer") }

func deletingEvent() message.Event { return reasonDeleting.Event("Deleting load balancer") }

func deletedEvent() message.Event { return reasonDeleted.Event("Deleted load balancer") }

func updatedEvent() message.Event {
	return reasonUpdated.Event("Updated load balancer with new hosts")
}

func noNodesEvent() message.Event {
	return reasonUnavailable.Event("There are no available nodes for LoadBalancer")
}

// orphanKeptEvent is the event for a failed removal whose Service no longer exists.
func orphanKeptEvent(f failure) message.Event {
	return reasonDeleteFailed.Event("Error deleting load balancer: " + f.text)
}

func callFailedEvent(f failure) message.Event {
	if f.during == remove {
		return reasonSyncFailed.Event("Error syncing load balancer: failed to delete load balancer: " + f.text)
	}
	return reasonSyncFailed.Event("Error syncing load balancer: failed to ensure load balancer: " + f.text)
}

func neverMadeEvent(f failure) message.Event {
	return reasonNeverMade.Event(fmt.Sprintf(
		"The Service is released although its load balancer could not be deleted %d times: it never got one, and the cloud has found none %d times. "+
			"Check in the cloud that nothing was left behind. The last error was: %s", f.attempts, minAbsences, f.text))
}

// notFoundCause adds to the cause of a failed deletion how the owner can end it.
func notFoundCause(c message.Cause) message.Cause {
	return c.Followed(" The cloud finds no load balancer of this Service, but one may exist or may be half-made. " +
		"Check in the cloud that there is none. Then remove the finalizer " + Finalizer + " from the Service.")
}

func updateFailedEvent(text string) message.Event {
	return reasonUpdateFailed.Event("Error updating load balancer with new hosts " + text)
}

// writeFailedEvent returns the event for a write that the API server refuses. The text
// is the same as upstream's.
func writeFailedEvent(during action, err error) message.Event {
	what := map[action]string{
		addFinalizer: "failed to add load balancer cleanup finalizer: ",
		publish:      "failed to update load balancer status: ",
		release:      "failed to remove load balancer cleanup finalizer: ",
	}
	return reasonSyncFailed.Event("Error syncing load balancer: " + what[during] + message.Cut(err))
}

// limitedNames returns the error and at most twenty names, in the same form as
// upstream.
func limitedNames(names []string, err error) string {
	const most = 20
	shown := names
	if len(names) > most {
		shown = append(names[:most:most], fmt.Sprintf("<%d more>", len(names)-most))
	}
	return fmt.Sprintf("[%s] [node names limited, total number of nodes: %d], error: %s", strings.Join(shown, " "), len(names), message.Cut(err))
}

func contestedEvent(what, manager string) message.Event {
	return reasonContested.Event(fmt.Sprintf(
		"Somebody else has changed the load balancer's %s (field manager: %s). It is put back, at most once in %v. "+
			"If another controller serves this Service, set its spec.loadBalancerClass.", what, message.Value(manager), showing.PutBackAfter))
}

// queuedEvent names the busy Service only if it is in the same namespace, because
// tenants need not know the names of other tenants' Services.
func queuedEvent(key, busy string) message.Event {
	other := "a Service of another namespace"
	if path.Dir(key) == path.Dir(busy) {
		other = "Service " + busy
	}
	return reasonQueued.Event(fmt.Sprintf(
		"The load balancer waits until the cloud has finished with the load balancer of %s. "+
			"If the provider allows concurrent calls, increase --concurrent-service-syncs.", other))
}

// unservedCause says whose finalizer holds the Service up, and how that ends.
func unservedCause(service *corev1.Service) message.Cause {
	held, whose, flag := "The Service gets no load balancer here", "without a class", "--load-balancer-class without '-'"
	if service.DeletionTimestamp != nil {
		held = "The Service is being deleted, and stays"
	}
	switch class := ownerOf(service); {
	case class != nil:
		whose, flag = "of the class "+message.Value(*class), "--load-balancer-class-cleanup="+message.Value(*class)
	case service.Spec.Type != corev1.ServiceTypeLoadBalancer && service.Annotations[AnnotationClass] == "":
		whose, flag = "of the class that it had before it got another type", "--load-balancer-class-cleanup with that class"
	}
	return reasonUnserved.Cause(fmt.Sprintf(
		"%s until the controller of Services %s has removed the load balancer and the finalizer %s (field manager: %s). This daemon does not serve such Services. If it did so before, or if there is no such controller any more, %s lets this daemon clean up.",
		held, whose, Finalizer, message.Value(managerOf(service, "f:finalizers")), flag))
}

func backendsInvalidEvent(refused string) message.Event {
	return reasonBackendsInvalid.Event(fmt.Sprintf("The annotation %s has no effect: %s. The flag --service-backends decides.", AnnotationBackends, message.Value(refused)))
}

func newCondition(r message.Reason, status metav1.ConditionStatus, text string) metav1.Condition {
	c := r.Cause(text)
	return metav1.Condition{Type: r.Condition, Status: status, Reason: c.Reason, Message: c.Message}
}

func provisioned() metav1.Condition {
	return newCondition(reasonProvisioned, metav1.ConditionFalse, "The load balancer matches the Service.")
}

func provisioning(c message.Cause) metav1.Condition {
	return metav1.Condition{Type: ConditionProvisioning, Status: metav1.ConditionTrue, Reason: c.Reason, Message: c.Message}
}

func notProvisioned(c message.Cause) metav1.Condition {
	return newCondition(reasonNotProvisioned, metav1.ConditionFalse, "There is no load balancer yet. "+c.Message)
}

func ensuringCause() message.Cause {
	return reasonFirstCall.Cause("The provider is about to be called for the load balancer.")
}

func inProgressCause() message.Cause {
	return reasonInProgress.Cause(fmt.Sprintf("The call to the provider has lasted for more than %v.", slowCallAfter))
}

func editedOftenCause() message.Cause {
	return reasonEdits.Cause(fmt.Sprintf(
		"The Service is edited all the time. After %d edits, the provider is called for edits only once in %v. The last edit waits for the next call.", editLimit.Burst, editLimit.Every))
}

// causeOfSuccessor returns the cause for a Service whose name another Service had
// before. The load balancer of the previous Service has to be deleted first.
func causeOfSuccessor(c message.Cause) message.Cause {
	return c.After("The load balancer of the previous Service of this name has to be deleted first. ")
}

// causeOf returns the cause to show for a failed call.
func causeOf(err error) message.Cause {
	c, ok := causes[cloud.KindOf(err)]
	if !ok {
		c = causes[cloud.Failed]
	}
	return c.Followed(" The call is retried. (" + message.Cut(err) + ")")
}
