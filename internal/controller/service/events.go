package service

import (
	"bytes"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// Conditions on a Service, with the meaning that KEP-4631 gave them. They are
// written only on Services whose load balancer this provider provides. A
// Service has no generation, so they may be older than its spec for a moment.
const (
	// ConditionServing tells whether there is a load balancer with an address
	// and nodes behind it.
	ConditionServing = "LoadBalancerServing"
	// ConditionProvisioning is True, with the reason, while the cloud is being
	// brought in line with the Service.
	ConditionProvisioning = "LoadBalancerProvisioning"
)

// event is a message about a Service for its owner.
type event struct {
	kind, reason, message string
}

// Upstream's events, byte for byte (upstream-behaviour 6.5).

func ensuring() event {
	return event{corev1.EventTypeNormal, "EnsuringLoadBalancer", "Ensuring load balancer"}
}

func ensured() event {
	return event{corev1.EventTypeNormal, "EnsuredLoadBalancer", "Ensured load balancer"}
}

func deleting() event {
	return event{corev1.EventTypeNormal, "DeletingLoadBalancer", "Deleting load balancer"}
}

func deleted() event {
	return event{corev1.EventTypeNormal, "DeletedLoadBalancer", "Deleted load balancer"}
}

func updated() event {
	return event{corev1.EventTypeNormal, "UpdatedLoadBalancer", "Updated load balancer with new hosts"}
}

func unavailable() event {
	return event{corev1.EventTypeWarning, "UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer"}
}

// callFailed is the event of a call that has failed, in upstream's words.
func callFailed(f failure) event {
	switch f.during {
	case remove:
		return event{corev1.EventTypeWarning, "SyncLoadBalancerFailed", "Error syncing load balancer: failed to delete load balancer: " + f.text}
	case update:
		return event{corev1.EventTypeWarning, "UpdateLoadBalancerFailed", "Error updating load balancer with new hosts " + f.text}
	case nothing, forget, addFinalizer, ensure, publish, release, wait:
	}
	return event{corev1.EventTypeWarning, "SyncLoadBalancerFailed", "Error syncing load balancer: failed to ensure load balancer: " + f.text}
}

// writeFailed is the event of a write that the API server will not take, in
// upstream's words.
func writeFailed(during step, err error) event {
	what := map[step]string{
		addFinalizer: "failed to add load balancer cleanup finalizer: ",
		publish:      "failed to update load balancer status: ",
		release:      "failed to remove load balancer cleanup finalizer: ",
	}
	return event{corev1.EventTypeWarning, "SyncLoadBalancerFailed", "Error syncing load balancer: " + what[during] + cut(err)}
}

// contested names who has undone what.
func contested(what, manager string) event {
	return event{corev1.EventTypeWarning, "LoadBalancerStatusContested", fmt.Sprintf(
		"The load balancer's %s was changed by somebody else (field manager: %s) and is put back. It is put back at most once in %v. "+
			"If another controller serves this Service, give it a spec.loadBalancerClass.", what, manager, repairPause)}
}

func queued(behind string) event {
	return event{corev1.EventTypeWarning, "LoadBalancerQueued", fmt.Sprintf(
		"The load balancer waits until the cloud has finished with that of Service %s. --concurrent-service-syncs allows more at once, if the provider does.", behind)}
}

// hostsOf has upstream's form: at most twenty sorted names.
func hostsOf(names []string, err error) string {
	const most = 20
	shown := names
	if len(names) > most {
		shown = append(names[:most:most], fmt.Sprintf("<%d more>", len(names)-most))
	}
	return fmt.Sprintf("[%s] [node names limited, total number of nodes: %d], error: %s", strings.Join(shown, " "), len(names), cut(err))
}

func provisioned() metav1.Condition {
	return metav1.Condition{
		Type: ConditionProvisioning, Status: metav1.ConditionFalse, Reason: "Provisioned",
		Message: "The cloud is in line with the Service.",
	}
}

func provisioning(r refusal) metav1.Condition {
	return metav1.Condition{Type: ConditionProvisioning, Status: metav1.ConditionTrue, Reason: r.reason, Message: r.message}
}

func refusalOfWork() refusal {
	return refusal{reason: "Ensuring", message: "The cloud is asked for the load balancer."}
}

func refusalOfSlowness() refusal {
	return refusal{reason: "InProgress", message: "The cloud has been at it for more than half a minute."}
}

// refusalOfPredecessor is for a Service whose name was another's before.
func refusalOfPredecessor(r refusal) refusal {
	r.message = "The load balancer of the former Service of this name has to go first. " + r.message
	return r
}

func notServing(r refusal) metav1.Condition {
	return metav1.Condition{Type: ConditionServing, Status: metav1.ConditionFalse, Reason: "NotProvisioned", Message: "There is no load balancer yet. " + r.message}
}

func serving(o observed) metav1.Condition {
	switch {
	case len(o.memory.status.Ingress) == 0:
		return metav1.Condition{
			Type: ConditionServing, Status: metav1.ConditionFalse, Reason: "NoAddress",
			Message: "The provider has a load balancer and names no address of it.",
		}
	case o.hosts == 0:
		return metav1.Condition{
			Type: ConditionServing, Status: metav1.ConditionFalse, Reason: "NoNodes",
			Message: "There are no available nodes for LoadBalancer: none is initialised, or all are excluded by label or taint.",
		}
	default:
		return metav1.Condition{Type: ConditionServing, Status: metav1.ConditionTrue, Reason: "Ready", Message: "The load balancer has an address and nodes."}
	}
}

// longest is how much of an error's text is shown, in bytes.
const longest = 1000

func cut(err error) string {
	text := err.Error()
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}

// refusals say for each kind of failure which reason the Service shows and what
// its owner can do.
var refusals = map[cloud.Kind]struct{ reason, message string }{
	cloud.Pending:        {"CloudPending", "The cloud is still at it, and the provider has asked to be called again."},
	cloud.Denied:         {"CloudDenied", "The cloud denies access. Check the credentials of the cloud-controller-manager and what they allow."},
	cloud.Throttled:      {"CloudThrottled", "The cloud's request quota is used up; who else uses it?"},
	cloud.Unavailable:    {"CloudUnavailable", "The cloud cannot be reached or fails inside."},
	cloud.Invalid:        {"CloudRejected", "The cloud rejects what the Service asks for. Change the Service."},
	cloud.Slow:           {"CloudSlow", "An earlier call about this Service has not returned."},
	cloud.TimedOut:       {"CloudTimedOut", "The cloud has not answered in time."},
	cloud.Panicked:       {"ProviderPanicked", "The provider's code has panicked; the log has its stack. This is a fault of the provider."},
	cloud.NotImplemented: {"NotImplemented", "The provider does not implement what the Service needs."},
	cloud.Failed:         {"CloudFailed", "The cloud provider has failed."},
}

// refusalOf tells why a call did not succeed.
func refusalOf(err error, text string) refusal {
	r, ok := refusals[cloud.KindOf(err)]
	if !ok {
		r = refusals[cloud.Failed]
	}
	return refusal{reason: r.reason, message: r.message + " It is tried again. (" + cut(err) + ")", text: text}
}

func joined(names []string) string { return strings.Join(names, ", ") }

// containsField looks for a field in the managed fields as they are stored.
func containsField(raw []byte, field string) bool { return bytes.Contains(raw, []byte(`"`+field+`"`)) }
