package node

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// ConditionInitialized on a Node is False, with the reason, while the Node has
// waited for more than a minute to be initialised, and True afterwards. A Node
// that was initialised sooner does not have it.
const ConditionInitialized corev1.NodeConditionType = "CloudInitialized"

// event is a message about a Node for its owner.
type event struct {
	kind, reason, message string
}

// synced is upstream's event, byte for byte (upstream-behaviour 3.8).
func synced() event {
	return event{corev1.EventTypeNormal, "Synced", "Node synced successfully"}
}

func initFailed(r refusal) event {
	return event{corev1.EventTypeWarning, "CloudInitFailed", r.reason + ": " + r.message}
}

func mismatch(r refusal) event {
	return event{corev1.EventTypeWarning, "CloudInstanceMismatch", r.message}
}

func moved(what, label, now string) event {
	return event{corev1.EventTypeWarning, "CloudLocationChanged", fmt.Sprintf(
		"The cloud says %s %q, the Node's label says %q. The label is not rewritten, since pods and volumes were placed by it. "+
			"Delete the Node and let it register anew to follow the cloud.", what, now, label)}
}

func addressesKept(r refusal) event {
	return event{corev1.EventTypeWarning, "CloudAddressesRejected", r.message + " The Node keeps the addresses that it has."}
}

func labelsSkipped(problems []string) event {
	return event{corev1.EventTypeWarning, "CloudLabelsRejected", "The cloud offers what is no valid label and was skipped: " + strings.Join(problems, ", ") + "."}
}

// initialized is what the condition says when all is well.
func initialized() refusal {
	return refusal{"Initialized", "The cloud has described the instance, and the Node is released for scheduling."}
}

func otherInstance(own, theirs string) *refusal {
	return &refusal{"ProviderIDMismatch", fmt.Sprintf(
		"The Node has provider ID %q, and the cloud says that its instance is %q. A provider ID cannot be changed: "+
			"delete the Node and let the kubelet register it anew, or correct what set the ID.", own, theirs)}
}

func noProviderID() *refusal {
	return &refusal{"NoProviderID", "The provider has described the instance without a provider ID, and the Node has none either. This is a fault of the provider."}
}

func invalidLabel(problems []string) *refusal {
	return &refusal{"InvalidLabel", "The cloud offers what is no valid label: " + strings.Join(problems, ", ") +
		". Change it at the instance; labels have at most 63 letters, digits, '-', '_' and '.'."}
}

// addressNotOffered has upstream's texts (upstream-behaviour 3.6).
func addressNotOffered(unmet unmetAddress) *refusal {
	if !unmet.parses {
		return &refusal{"InvalidNodeIP", fmt.Sprintf(
			"failed to parse node IP %q: the kubelet's --node-ip must be one address, or one of each family separated by a comma.", unmet.value)}
	}
	return &refusal{"NodeIPNotOffered", fmt.Sprintf(
		"failed to get node address from cloud provider that matches ip: %s. The kubelet was told to use this address by --node-ip; "+
			"give it to the instance, or correct the flag.", unmet.value)}
}

// writeRefused tells why the Node could not be written.
func writeRefused(err error) refusal {
	if kube.IsRejected(err) {
		return refusal{"WriteRejected", "The API server rejects what the cloud says of this Node. " +
			"Check the cloud-controller-manager's RBAC rules and admission policies. It is tried again. (" + cut(err) + ")"}
	}
	return refusal{"WriteFailed", "What the cloud says of this Node could not be written. " +
		"Check the API server and its admission webhooks. It is tried again. (" + cut(err) + ")"}
}

// longest is how much of an error's text is shown on a Node, in bytes. Every
// watcher of Nodes keeps it in memory.
const longest = 1000

func cut(err error) string {
	text := err.Error()
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}

// refusals say for each kind of failure which reason the Node shows and what
// its owner can do.
var refusals = map[cloud.Kind]struct{ reason, message string }{
	cloud.NotFound:       {"InstanceNotFound", "The cloud has no instance for this Node. Check that the Node's name or provider ID is the instance's, and that the credentials are for the right account."},
	cloud.Denied:         {"CloudDenied", "The cloud denies access. Check the credentials of the cloud-controller-manager and what they allow."},
	cloud.Throttled:      {"CloudThrottled", "The cloud's request quota is used up. It is asked again as soon as there is room; who else uses the quota?"},
	cloud.Unavailable:    {"CloudUnavailable", "The cloud cannot be reached or fails inside."},
	cloud.Invalid:        {"CloudRejected", "The cloud rejects the question about this Node."},
	cloud.Slow:           {"CloudSlow", "The cloud has not answered yet."},
	cloud.TimedOut:       {"CloudTimedOut", "The cloud has not answered in time."},
	cloud.Panicked:       {"ProviderPanicked", "The provider's code has panicked; the log has its stack. This is a fault of the provider."},
	cloud.NoAnswer:       {"NoMetadata", "The provider has returned neither metadata nor an error: it does not know the instance yet."},
	cloud.NotImplemented: {"NotImplemented", "The provider does not implement what has to be asked about the Node."},
	cloud.Failed:         {"CloudFailed", "The cloud provider has failed."},
}

// refusalOf tells why the cloud gave no answer.
func refusalOf(err error) refusal {
	r, ok := refusals[cloud.KindOf(err)]
	if !ok {
		r = refusals[cloud.Failed]
	}
	return refusal{r.reason, r.message + " It is tried again. (" + cut(err) + ")"}
}
