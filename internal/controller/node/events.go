package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodecause"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// ConditionInitialized is the condition that shows why a Node waits. It is False on a
// Node that has waited for more than a minute to be initialised. When the Node is
// initialised, it is removed or, if Config.AlwaysShow is set, becomes True.
const ConditionInitialized = mark.NodeInitialized

// ConditionUnfound is the condition that shows that the cloud does not know the instance
// of a Node whose kubelet reports.
const ConditionUnfound = mark.InstanceUnfound

// Reasons of events.
var (
	synced = message.Reason{
		Name: "Synced", On: "Node", Type: corev1.EventTypeNormal,
		When: "The Node has been initialised and is released for scheduling. The reason and the text are upstream's.",
	}
	initFailed = message.Reason{
		Name: "CloudInitFailed", On: "Node", Type: corev1.EventTypeWarning,
		When: "The Node cannot be initialised yet. The text begins with the reason that the condition CloudInitialized shows.",
		Do:   "See the reason of the condition.",
	}
	instanceMismatch = message.Reason{
		Name: "CloudInstanceMismatch", On: "Node", Type: corev1.EventTypeWarning,
		When: "The cloud describes the instance of another Node, or, with --node-strict-provider-ids, an instance whose provider ID is not the Node's. The daemon writes nothing of this to the Node.",
		Do:   "Delete the Node and let the kubelet register it again, or correct what set the provider ID.",
	}
	locationChanged = message.Reason{
		Name: "CloudLocationChanged", On: "Node", Type: corev1.EventTypeWarning,
		When: "The cloud names another zone or region than the Node's label. The label stays, because pods and volumes were placed according to it.",
		Do:   "Delete the Node and let it register again, if it should get the new label.",
	}
	addressesRejected = message.Reason{
		Name: "CloudAddressesRejected", On: "Node", Type: corev1.EventTypeWarning,
		When: "The cloud does not offer the address that the kubelet was told to use, or offers one that is none. The Node keeps the addresses that it has.",
		Do:   "Give the address to the instance, or correct the kubelet's --node-ip. Report an address that is none to the author of the provider.",
	}
	addressesKept = message.Reason{
		Name: "CloudAddressesMissing", On: "Node", Type: corev1.EventTypeWarning,
		When: "The cloud offers no IP address for the Node any more, or no internal one. " + keptForAWhile,
		Do:   "Check the network interfaces of the instance, and its guest agent if the cloud learns the addresses from one.",
	}
	instanceShared = message.Reason{
		Name: "CloudInstanceShared", On: "Node", Type: corev1.EventTypeWarning,
		When: "Another Node has the same provider ID, and the kubelets of both report. Both Nodes follow the one instance.",
		Do:   "Delete the Node with the wrong provider ID, and let its kubelet register it again. If the provider names one ID for two machines, report it to its author.",
	}
	unfoundNode = message.Reason{
		Name: "CloudInstanceNotFound", On: "Node", Type: corev1.EventTypeWarning,
		When: fmt.Sprintf("The kubelet reports, but %d answers in a row, over two minutes, say that the cloud has no instance of the Node. The Node stays, but its addresses and labels are no longer kept up to date.", removeAfter),
		Do:   "Check the Node's provider ID, and for which account and region the credentials are. If the Node belongs to another cloud, say so: Nodes of other clouds are left alone if --node-provider-id-schemes or a label says which are this daemon's.",
	}
	updateFailed = message.Reason{
		Name: "CloudUpdateFailed", On: "Node", Type: corev1.EventTypeWarning,
		When: "The data that the cloud returned for an initialised Node could not be written. The write is tried again.",
		Do:   "Check the RBAC rules of the cloud-controller-manager, the admission policies and the webhooks.",
	}
	labelsRejected = message.Reason{
		Name: "CloudLabelsRejected", On: "Node", Type: corev1.EventTypeWarning,
		When: "The cloud offers labels that Kubernetes does not accept. They are not written.",
		Do:   "Change them at the instance.",
	}
	instanceTruncated = message.Reason{
		Name: "CloudInstanceTruncated", On: "Node", Type: corev1.EventTypeNormal,
		When: fmt.Sprintf("The cloud names more of the Node's instance than the daemon reads: more than %d addresses, an address with more than %d bytes, or more than %d additional labels.",
			cloud.MaxAddresses, cloud.MaxAddressBytes, cloud.MaxLabels),
		Do: "Nothing, unless the Node lacks an address or a label that it needs. Then remove others from the instance.",
	}
	nodeExcluded = message.Reason{
		Name: "NodeExcluded", On: "Node", Type: corev1.EventTypeNormal,
		When: "A label says that the Node does not belong to this daemon: it is not initialised, updated or deleted, and its routes stay as they are.",
		Do:   "Nothing if you have set the label. A kubelet can set " + ownership.LabelExclude + " and " + ownership.LabelProvider + " itself. With --node-restricted-labels-only the daemon ignores these labels.",
	}
	foreignNode = message.Reason{
		Name: "ForeignNode", On: "Node", Type: corev1.EventTypeWarning,
		When: "The Node has waited for a minute to be initialised. According to the daemon's flags, it does not belong to this daemon, so the daemon leaves it to another cloud-controller-manager.",
		Do:   "If it belongs to this daemon, correct the flags that the message names. If it belongs to no cloud-controller-manager, remove the taint, and start its kubelet without --cloud-provider=external.",
	}
	exclusionIgnored = message.Reason{
		Name: "NodeExclusionIgnored", On: "Node", Type: corev1.EventTypeWarning,
		When: "The Node has the label " + ownership.LabelExclude + " or " + ownership.LabelProvider + ". A kubelet can set these labels itself, so the daemon ignores them with --node-restricted-labels-only.",
		Do:   "Find out who has set it. To exclude the Node, label it " + ownership.LabelExcludeRestricted + ".",
	}
)

// Reasons of the condition CloudInitialized, in addition to those of nodecause.
var (
	initialized = message.Reason{
		Name: "Initialized", On: "Node", Condition: string(ConditionInitialized),
		When: "The Node is initialised. This is shown only if --node-condition=always is set.",
	}
	providerIDMismatch = message.Reason{
		Name: "ProviderIDMismatch", On: "Node", Condition: string(ConditionInitialized),
		When: "The cloud describes the instance of another Node, or, with --node-strict-provider-ids, an instance whose provider ID is not the Node's.",
		Do:   "Delete the Node and let the kubelet register it again, or correct what set the provider ID.",
	}
	noProviderID = message.Reason{
		Name: "NoProviderID", On: "Node", Condition: string(ConditionInitialized),
		When: "The provider has described the instance without a provider ID, and the Node has none either.",
		Do:   "Report it to the author of the provider.",
	}
	invalidProviderID = message.Reason{
		Name: "InvalidProviderID", On: "Node", Condition: string(ConditionInitialized),
		When: "The provider has described the instance with a provider ID that names no instance.",
		Do:   "Report it to the author of the provider.",
	}
	providerIDShared = message.Reason{
		Name: "ProviderIDShared", On: "Node", Condition: string(ConditionInitialized),
		When: "Another Node has the provider ID of the Node's instance, and its kubelet reports.",
		Do:   "Delete the Node with the wrong provider ID. If the provider names one ID for two machines, report it to its author.",
	}
	invalidAddress = message.Reason{
		Name: "InvalidAddress", On: "Node", Condition: string(ConditionInitialized),
		When: "The cloud offers an address that is none.",
		Do:   "Correct it at the instance, or report it to the author of the provider.",
	}
	noNodeIP = message.Reason{
		Name: "NoIPAddress", On: "Node", Condition: string(ConditionInitialized),
		When: "The cloud offers no IP address for the Node, and the kubelet has set none.",
		Do:   "Check the network interfaces of the instance, and its guest agent if the cloud learns the addresses from one. If the cloud never knows addresses, set the kubelet's --node-ip.",
	}
	invalidLabel = message.Reason{
		Name: "InvalidLabel", On: "Node", Condition: string(ConditionInitialized),
		When: "The cloud offers labels that Kubernetes does not accept.",
		Do:   "Change them at the instance. A label has at most 63 characters: letters, digits, '-', '_' and '.'.",
	}
	invalidNodeIP = message.Reason{
		Name: "InvalidNodeIP", On: "Node", Condition: string(ConditionInitialized),
		When: "The kubelet's --node-ip is not valid. It must be one address, or two addresses of different families, separated by a comma.",
		Do:   "Correct the flag of the kubelet.",
	}
	nodeIPNotOffered = message.Reason{
		Name: "NodeIPNotOffered", On: "Node", Condition: string(ConditionInitialized),
		When: "The cloud does not offer the address that the kubelet was told to use by --node-ip.",
		Do:   "Give the address to the instance, or correct the kubelet's flag.",
	}
	unfound = message.Reason{
		Name: "InstanceNotFound", On: "Node", Condition: string(ConditionUnfound),
		When: "The kubelet reports, but the cloud says that it has no instance of the Node.",
		Do:   "Check the Node's provider ID, and for which account and region the credentials are.",
	}
	found = message.Reason{
		Name: "InstanceFound", On: "Node", Condition: string(ConditionUnfound),
		When: "The cloud knows the instance again.",
	}
	writeRejected = message.Reason{
		Name: "WriteRejected", On: "Node", Condition: string(ConditionInitialized),
		When: "The API server rejects the data that the cloud returned for the Node.",
		Do:   "Check the RBAC rules of the cloud-controller-manager and the admission policies.",
	}
	writeFailed = message.Reason{
		Name: "WriteFailed", On: "Node", Condition: string(ConditionInitialized),
		When: "The data that the cloud returned for the Node could not be written.",
		Do:   "Check the API server and its admission webhooks.",
	}
)

// Reasons returns the reasons of all events and conditions of this controller.
func Reasons() []message.Reason {
	return slices.Concat([]message.Reason{
		synced, initFailed, instanceMismatch, locationChanged, addressesRejected, updateFailed, labelsRejected, instanceTruncated, nodeExcluded, exclusionIgnored, foreignNode,
		addressesKept, instanceShared, unfoundNode, unfound, found,
		initialized, providerIDMismatch, noProviderID, invalidProviderID, providerIDShared, invalidLabel, invalidAddress, noNodeIP, invalidNodeIP, nodeIPNotOffered, writeRejected, writeFailed,
	}, nodecause.Reasons(ConditionInitialized))
}

// hasSynced returns the same event as upstream (upstream-behaviour 3.8).
func hasSynced() message.Event { return synced.Event("Node synced successfully") }

func hasInitFailed(c message.Cause) message.Event {
	return initFailed.Event(c.Reason + ": " + c.Message)
}

func hasMismatch(c message.Cause) message.Event { return instanceMismatch.Event(c.Message) }

func hasMoved(what, label, now string) message.Event {
	return locationChanged.Event(fmt.Sprintf(
		"The cloud says that the %s is %q, but the Node's label says %q. The label is not rewritten, because pods and volumes were placed according to it. "+
			"Delete the Node and let it register again to get the new label.", what, message.Value(now), message.Value(label)))
}

func hasKeptAddresses(c message.Cause) message.Event {
	return addressesRejected.Event(c.Message + " The Node keeps the addresses that it has.")
}

// keptForAWhile says how long addresses stay that the cloud no longer offers.
var keptForAWhile = fmt.Sprintf("The Node keeps the addresses that it has until %d answers in a row, over a minute, say the same.", takenAfter)

func hasKeptLastIP() message.Event {
	return addressesKept.Event("The cloud offers no IP address for the Node any more, or no internal one. " + keptForAWhile)
}

func isShared(c message.Cause) message.Event { return instanceShared.Event(c.Message) }

func isUnfound() message.Cause {
	return unfound.Cause("The kubelet reports, but the cloud says that it has no instance of this Node. The Node stays, but its addresses and labels are no longer kept up to date. " +
		"Check its provider ID, and for which account and region the credentials are. If it belongs to another cloud, --node-provider-id-schemes or a label can say so.")
}

func isFound() message.Cause { return found.Cause("The cloud knows the instance again.") }

func hasFailedUpdate(c message.Cause) message.Event {
	return updateFailed.Event(c.Reason + ": " + c.Message)
}

func hasSkippedLabels(problems []string) message.Event {
	return labelsRejected.Event("The cloud offers labels that are not valid. They were skipped: " + list(problems) + ".")
}

// isTruncated reports what is left out of the cloud's description of an instance. The text
// has no numbers of the cloud, which may differ in each answer: it is shown once.
func isTruncated(i instance) message.Event {
	var parts []string
	if i.moreAddresses {
		parts = append(parts, fmt.Sprintf("Of the addresses, at most %d are read, and none with more than %d bytes. If there are too many, the types of addresses take turns.",
			cloud.MaxAddresses, cloud.MaxAddressBytes))
	}
	if i.moreLabels {
		parts = append(parts, fmt.Sprintf("Of the additional labels, the first %d are read, in the order of their keys. Other labels of the Node stay as they are.", cloud.MaxLabels))
	}
	return instanceTruncated.Event("The cloud names more of the Node's instance than is read. " + strings.Join(parts, " "))
}

// list returns the first problems, and the number of the others. It names only a few,
// because a cloud can offer any number of invalid labels.
func list(problems []string) string {
	const most = 3
	var shown []string
	for _, p := range problems[:min(most, len(problems))] {
		shown = append(shown, message.Value(p))
	}
	if len(problems) > most {
		shown = append(shown, fmt.Sprintf("and %d more", len(problems)-most))
	}
	return strings.Join(shown, ", ")
}

func isExcluded(why string) message.Event {
	return nodeExcluded.Event("This daemon leaves the Node alone, because " + why + ": it is not initialised, updated or deleted, and its routes stay as they are.")
}

func isForeign(why string) message.Event {
	return foreignNode.Event("The Node waits to be initialised, and this daemon leaves it to another cloud-controller-manager, because " + why + ".")
}

func isNotExcluded(label string) message.Event {
	return exclusionIgnored.Event("The label " + label + " has no effect, because a kubelet can set it itself and --node-restricted-labels-only is set. " +
		"To exclude the Node, label it " + ownership.LabelExcludeRestricted + ".")
}

func isInitialized() message.Cause {
	return initialized.Cause("The cloud has described the instance, and the Node is released for scheduling.")
}

func otherInstance(o observed) *message.Cause {
	of := ""
	if o.holder != "" {
		of = ", which is the provider ID of Node " + o.holder
	}
	return new(providerIDMismatch.Cause(fmt.Sprintf(
		"The Node has provider ID %q, and the cloud says that its instance is %q%s. A provider ID cannot be changed: "+
			"delete the Node and let the kubelet register it again, or correct what set the ID.", message.Value(o.node.Spec.ProviderID), message.Value(o.answer.instance.providerID), of)))
}

func providerIDMissing() *message.Cause {
	return new(noProviderID.Cause("The provider has described the instance without a provider ID, and the Node has none either. This is a bug in the provider."))
}

func providerIDUnusable(id string) *message.Cause {
	return new(invalidProviderID.Cause(fmt.Sprintf("The provider has described the instance with the provider ID %q, which names no instance. This is a bug in the provider. "+
		"The ID is not written, because it could not be changed later.", message.Value(id))))
}

// sharedInstance names the other Node with the provider ID of the instance.
func sharedInstance(o observed) message.Cause {
	return providerIDShared.Cause(fmt.Sprintf("Node %s has the same provider ID, %q, and its kubelet reports. Two machines cannot be one instance: "+
		"delete the Node with the wrong ID. If the provider names one ID for two machines, this is a bug in the provider.",
		o.twin, message.Value(cmp.Or(o.node.Spec.ProviderID, o.answer.instance.providerID))))
}

func addressesUnusable(unusable []string) *message.Cause {
	return new(invalidAddress.Cause("The cloud offers addresses that are none: " + list(unusable) + ". Correct them at the instance, or report it to the author of the provider."))
}

func noIPOffered() *message.Cause {
	return new(noNodeIP.Cause("The cloud offers no IP address for the Node, and the kubelet has set none. Check the network interfaces of the instance, and its guest agent if the cloud learns the addresses from one. " +
		"If the cloud never knows addresses, set the kubelet's --node-ip."))
}

func labelsInvalid(problems []string) *message.Cause {
	return new(invalidLabel.Cause("The cloud offers labels that are not valid: " + list(problems) +
		". Change them at the instance. A label has at most 63 characters: letters, digits, '-', '_' and '.'."))
}

// addressNotOffered explains which node IP the cloud does not offer. Its messages begin
// with upstream's texts (upstream-behaviour 3.6).
func addressNotOffered(unmet unmetAddress, i instance) *message.Cause {
	if !unmet.parses {
		return new(invalidNodeIP.Cause(fmt.Sprintf(
			"failed to parse node IP %q: the kubelet's --node-ip must be one address, or two addresses of different families, separated by a comma.", message.Value(unmet.value))))
	}
	c := nodeIPNotOffered.Cause(fmt.Sprintf(
		"failed to get node address from cloud provider that matches ip: %s. The kubelet was told to use this address by --node-ip. "+
			"Give it to the instance, or correct the flag.", message.Value(unmet.value)))
	if i.moreAddresses {
		c = c.Followed(fmt.Sprintf(" The cloud names more addresses than the %d that are read, and this address might be one of the others.", cloud.MaxAddresses))
	}
	return &c
}

// withPause adds to a cause the time until the cloud is asked again, if that time is
// long.
func withPause(c message.Cause, pause time.Duration) message.Cause {
	if pause > hurriedFor {
		return c.Followed(fmt.Sprintf(" The cloud is asked about this Node again within %v, and at once if the Node changes.", pause))
	}
	return c
}

// notWritten explains why the Node could not be written.
func notWritten(err error) message.Cause {
	if kube.IsRejected(err) {
		return writeRejected.Cause("The API server rejects the data that the cloud returned for this Node. " +
			"Check the cloud-controller-manager's RBAC rules and admission policies. The write is tried again. (" + message.Cut(err) + ")")
	}
	return writeFailed.Cause("The data that the cloud returned for this Node could not be written. " +
		"Check the API server and its admission webhooks. The write is tried again. (" + message.Cut(err) + ")")
}
