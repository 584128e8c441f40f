package nodelifecycle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodecause"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// ConditionMissing is the condition that shows why the deletion of a Node is held. It
// is written once the deletion has waited for a minute. It is True if the cloud calls
// the instance absent. The message then says what has to happen before the Node is
// deleted. The condition is Unknown if the last question had no answer, and the last
// answer was not "absent". The reason then says why. The condition becomes False once
// the instance is found or the kubelet reports.
const ConditionMissing = mark.InstanceMissing

// Reasons of events.
var (
	deletingNode = message.Reason{
		Name: "DeletingNode", On: "Node", Type: corev1.EventTypeNormal,
		When: "The Node has been deleted because its instance no longer exists. The reason and the text are upstream's.",
	}
	deletingNodeFailed = message.Reason{
		Name: "DeletingNodeFailed", On: "Node", Type: corev1.EventTypeWarning,
		When: "The API server does not let the Node be deleted. The reason and the text are upstream's.",
		Do:   "Check the RBAC rules of the cloud-controller-manager and the admission webhooks.",
	}
	nodeDeletionHeld = message.Reason{
		Name: "NodeDeletionHeld", On: "Node", Type: corev1.EventTypeWarning,
		When: "The kubelet is silent and the Node is not deleted. The text begins with the reason that the condition CloudInstanceMissing shows. If that is AbsenceUnconfirmed, with which each ordinary removal begins, the event is of type Normal.",
		Do:   "See the reason of the condition.",
	}
	nodeDeletionResumed = message.Reason{
		Name: "NodeDeletionResumed", On: "Node", Type: corev1.EventTypeNormal,
		When: "The deletion of the Node was held. The Node is deleted now.",
	}
	nodeDeletionCanceled = message.Reason{
		Name: "NodeDeletionCanceled", On: "Node", Type: corev1.EventTypeNormal,
		When: "The Node stays: the cloud has found its instance, or its kubelet reports again.",
	}
	shutdownTaintFailed = message.Reason{
		Name: "ShutdownTaintFailed", On: "Node", Type: corev1.EventTypeWarning,
		When: "The shutdown taint of the Node could not be set or removed. The write is retried. The event is recorded once, not after each attempt.",
		Do:   "Check the RBAC rules of the cloud-controller-manager and the admission webhooks.",
	}
)

// Reasons of the condition CloudInstanceMissing, in addition to those of nodecause.
var (
	absenceUnconfirmed = message.Reason{
		Name: "AbsenceUnconfirmed", On: "Node", Condition: string(ConditionMissing),
		When: "The cloud has not yet said often enough, or for long enough, that the instance does not exist.",
		Do:   "Nothing. This takes less than a minute, or two minutes for a young Node.",
	}
	tooManyAbsent = message.Reason{
		Name: "TooManyAbsent", On: "Node", Condition: string(ConditionMissing),
		When: "More Nodes are absent together than --node-deletion-budget-nodes and --node-deletion-budget-percent allow, and the cloud's answers about this Node's zone are doubtful.",
		Do:   "Check the region, the project and the credentials. If the machines are gone, wait, or delete the Nodes by hand.",
	}
	deletionRateLimited = message.Reason{
		Name: "DeletionRateLimited", On: "Node", Condition: string(ConditionMissing),
		When: "More Nodes are absent together than the budget allows, and this Node has been absent for --node-deletion-over-budget-after, or the other Nodes of its zone confirm the cloud. Or a condition announces the removal of the Node. Such Nodes are deleted at a limited rate.",
		Do:   "Nothing.",
	}
	noWitness = message.Reason{
		Name: "NoWitness", On: "Node", Condition: string(ConditionMissing),
		When: "The cloud has confirmed too few other Nodes, or there is no other Node to ask the cloud about.",
		Do:   "If the message says that there is no other Node, delete the Node by hand, or set --node-deletion-without-witness-after. Otherwise check the cloud.",
	}
	cloudContradictsKubelet = message.Reason{
		Name: "CloudContradictsKubelet", On: "Node", Condition: string(ConditionMissing),
		When: "The cloud says that the instance of another Node does not exist, although that Node's kubelet reports. The message names that Node.",
		Do:   "Check the credentials, the project and the region. If the named Node is not of this cloud, label it " + ownership.LabelExcludeRestricted + ".",
	}
	deniedNodesReport = message.Reason{
		Name: "DeniedNodesReport", On: "Node", Condition: string(ConditionMissing),
		When: "For --node-deletion-foreign-after or longer, the cloud has said that the instances of several Nodes do not exist, although their kubelets report. The message names up to five of these Nodes. Either the cloud's answers are wrong, or somebody uses the credentials of machines that are gone.",
		Do:   "Check the credentials, the project and the region. If they are right, find out where the named kubelets run, and take their certificates away. A Node with the label " + ownership.LabelExcludeRestricted + " does not count.",
	}
	foreignProviderID = message.Reason{
		Name: "ForeignProviderID", On: "Node", Condition: string(ConditionMissing),
		When: "The provider has never confirmed a Node whose provider ID has the same scheme as this Node's.",
		Do:   "If the Node belongs to another provider, label it " + ownership.LabelExcludeRestricted + ".",
	}
	notOfThisCloud = message.Reason{
		Name: "NotOfThisCloud", On: "Node", Condition: string(ConditionMissing),
		When: "The Node has no provider ID and was not initialised by a cloud-controller-manager. Other Nodes have provider IDs, and the cloud has no instance with this Node's name.",
		Do:   "If it is a machine of your own, label it " + ownership.LabelExcludeRestricted + ". If it was an instance of this cloud and is gone, delete the Node by hand.",
	}
	deletionDisabled = message.Reason{
		Name: "DeletionDisabled", On: "Node", Condition: string(ConditionMissing),
		When: "The cloud says that the instance does not exist, and --node-deletion=false keeps every Node.",
		Do:   "Delete the Node by hand.",
	}
	readFailed = message.Reason{
		Name: "ReadFailed", On: "Node", Condition: string(ConditionMissing),
		When: "The Node cannot be read from the API server before its deletion.",
		Do:   "Check the RBAC rules of the cloud-controller-manager.",
	}
	deleteFailed = message.Reason{
		Name: "DeleteFailed", On: "Node", Condition: string(ConditionMissing),
		When: "The API server does not let the Node be deleted.",
		Do:   "Check the RBAC rules of the cloud-controller-manager and the admission webhooks.",
	}
	nodeKeepsChanging = message.Reason{
		Name: "NodeKeepsChanging", On: "Node", Condition: string(ConditionMissing),
		When: "The Node changes so often that each attempt to delete it meets a newer version.",
		Do:   "Nothing at first. If it lasts, find out what writes the Node all the time.",
	}
	instanceFound = message.Reason{
		Name: "InstanceFound", On: "Node", Condition: string(ConditionMissing),
		When: "The cloud says that the instance exists. The Node stays.",
	}
	kubeletReports = message.Reason{
		Name: "KubeletReports", On: "Node", Condition: string(ConditionMissing),
		When: "The kubelet reports again. The Node stays.",
	}
)

// Reasons returns the reasons of all events and conditions of this controller.
func Reasons() []message.Reason {
	return slices.Concat([]message.Reason{
		deletingNode, deletingNodeFailed, nodeDeletionHeld, nodeDeletionResumed, nodeDeletionCanceled, shutdownTaintFailed,
		absenceUnconfirmed, tooManyAbsent, deletionRateLimited, noWitness, cloudContradictsKubelet, deniedNodesReport, foreignProviderID, notOfThisCloud, deletionDisabled,
		readFailed, deleteFailed, nodeKeepsChanging, instanceFound, kubeletReports,
	}, nodecause.ReasonsOfExistence(ConditionMissing))
}

func deletionHeld(c message.Cause) message.Event {
	e := nodeDeletionHeld.Event(c.Reason + ": " + c.Message)
	if c.Reason == absenceUnconfirmed.Name {
		e.Type = corev1.EventTypeNormal
	}
	return e
}

func deletionResumed(was, why string) message.Event {
	return nodeDeletionResumed.Event(fmt.Sprintf("The deletion was held (%s) and goes on: %s.", was, why))
}

func deletionCanceled(c message.Cause) message.Event {
	return nodeDeletionCanceled.Event(c.Reason + ": " + c.Message)
}

// deleting returns upstream's event for a deletion, and deletingFailed returns
// upstream's event for a failed one (upstream-behaviour 4.1).
func deleting(name string) message.Event {
	return deletingNode.Event(fmt.Sprintf("Deleting node %s because it does not exist in the cloud provider", name))
}

func deletingFailed(name string, err error) message.Event {
	if theirs := errors.Unwrap(err); theirs != nil {
		err = theirs // the API server's own words
	}
	return deletingNodeFailed.Event(fmt.Sprintf("Failed deleting node %s: %s", name, message.Cut(err)))
}

func taintFailed(err error) message.Event {
	return shutdownTaintFailed.Event("The shutdown taint of this Node could not be set or removed, so pods may be scheduled to a machine that is shut down, or kept off a machine that runs. " +
		"Check the cloud-controller-manager's RBAC rules and admission webhooks. The write is retried. (" + message.Cut(err) + ")")
}

func notRead(err error) message.Cause {
	return readFailed.Cause("The instance is gone, and the Node cannot be read from the API server for the final check. " +
		"Check the cloud-controller-manager's RBAC rules. The final check is repeated. (" + message.Cut(err) + ")")
}

func notDeleted(err error) message.Cause {
	if kube.IsStale(err) {
		return nodeKeepsChanging.Cause("The instance is gone, and the Node changes so often that each attempt to delete it meets a newer version. " +
			"The deletion is retried. (" + message.Cut(err) + ")")
	}
	return deleteFailed.Cause("The instance is gone, and the API server does not let the Node be deleted. " +
		"Check the cloud-controller-manager's RBAC rules and admission webhooks. The deletion is retried. (" + message.Cut(err) + ")")
}

// ending adds to a cause the time from which it no longer holds the deletion.
func ending(c message.Cause, at time.Time) message.Cause {
	return c.Followed(" If nothing changes, the deletion goes on at " + at.UTC().Format(time.DateTime) + " UTC at the latest.")
}

func reportsAgain() message.Cause {
	return kubeletReports.Cause("The kubelet reports again. The Node stays.")
}

func isFound() message.Cause {
	return instanceFound.Cause("The cloud says that the instance exists. The Node stays.")
}

func deletionIsOff() message.Cause {
	return deletionDisabled.Cause("The cloud says that the instance does not exist, and --node-deletion=false keeps every Node. Delete the Node by hand.")
}

func notConfirmed(e evidence, l Limits, needed time.Duration) message.Cause {
	return absenceUnconfirmed.Cause(fmt.Sprintf("The kubelet is silent, and the cloud has said %d of %d times that the instance does not exist. "+
		"The Node is deleted if that stays so for %v.", min(e.absences, l.Absences), l.Absences, needed))
}

func overBudget(a absentees, l Limits, doubt string) message.Cause {
	return tooManyAbsent.Cause(fmt.Sprintf("%d of %d Nodes are absent from the cloud together. The budget allows %v. %s The cloud's answers may be wrong, so the Node is kept "+
		"until it has been absent for %v. Check the cloud's region, project and credentials. If the instance is gone, the Node may be deleted by hand.",
		a.absent, a.nodes, l.Budget, doubt, l.OverBudgetAfter))
}

func rateLimited(a absentees, rate int) message.Cause {
	return deletionRateLimited.Cause(fmt.Sprintf("%d of %d Nodes are absent from the cloud together. At most %d of them are deleted in a minute, "+
		"and that many were deleted in the last minute.", a.absent, a.nodes, rate))
}

func announcedRateLimited(_ absentees, rate int) message.Cause {
	return deletionRateLimited.Cause(fmt.Sprintf("The instance is gone, and a condition of this Node announces its removal. At most %d such Nodes are deleted in a minute, "+
		"because kubelets can write these conditions, and that many were deleted in the last minute.", rate))
}

func contradicts(w witnesses) message.Cause {
	if w.tooManyForeign {
		return keepReporting(w.foreign)
	}
	denied := w.contradicting.node
	return cloudContradictsKubelet.Cause(fmt.Sprintf("The cloud says that the instance of Node %s does not exist either, although that Node's kubelet reports, "+
		"so the cloud's answers are not trusted. Check the credentials, project and region of the cloud-controller-manager. "+
		"If Node %s is not of this cloud, label it "+ownership.LabelExcludeRestricted+".", denied.Name, denied.Name))
}

// maxNamed is the largest number of Nodes that a message names.
const maxNamed = 5

// keepReporting explains why several other Nodes hold a deletion. The cloud calls their
// instances absent, but their kubelets report. The message names some of these Nodes.
func keepReporting(denied []*peer) message.Cause {
	var names []string
	for _, p := range denied {
		names = append(names, p.node.Name)
	}
	slices.Sort(names)
	if rest := len(names) - maxNamed; rest > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", rest))
	}
	return deniedNodesReport.Cause(fmt.Sprintf("The cloud keeps saying that the instances of %d other Nodes do not exist, although their kubelets report: %s. "+
		"The Node is kept while this lasts. Check the credentials, project and region of the cloud-controller-manager. If they are right, each of these Nodes may belong to a kubelet that uses the credentials "+
		"of a machine that is gone: find the kubelet and revoke its certificate. A Node with the label "+ownership.LabelExcludeRestricted+" does not count.",
		len(denied), strings.Join(names, ", ")))
}

func tooFewWitnesses(w witnesses) message.Cause {
	return noWitness.Cause(fmt.Sprintf("The cloud says that the instance does not exist. Since then, the cloud has confirmed only %d of %d other Nodes like this one, "+
		"so the answer is not trusted. Check the cloud and its credentials, or delete the Node by hand.", w.seen, w.others))
}

func noNodeLeft() message.Cause {
	return noWitness.Cause("The cloud says that the instance does not exist. There is no other Node of this provider and region " +
		"to test the answer with. See --node-deletion-without-witness-after, or delete the Node by hand.")
}

func isForeign(node *corev1.Node) message.Cause {
	return foreignProviderID.Cause(fmt.Sprintf("The provider has not confirmed any Node whose provider ID has the same scheme as %q, so this Node counts as another provider's "+
		"and is left alone. If the Node belongs to this provider, check the credentials. If it does not, label it "+ownership.LabelExcludeRestricted+".", message.Value(node.Spec.ProviderID)))
}

func isNotOurs() message.Cause {
	return notOfThisCloud.Cause("The cloud has no instance with this Node's name. The Node has no provider ID and was not initialised by a cloud-controller-manager, " +
		"and other Nodes have provider IDs, so this Node counts as a machine that is not of this cloud and is left alone. " +
		"If that is so, label it " + ownership.LabelExcludeRestricted + ". If it was an instance of this cloud, delete the Node by hand.")
}

// notAnswered explains why the Node is kept although its kubelet is silent.
func notAnswered(c message.Cause) message.Cause {
	return c.After("The kubelet is silent, and it is not known whether the instance exists. The Node is kept. ")
}
