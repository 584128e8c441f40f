package node

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// ConditionMissing on a Node is True, with what is missing before the Node is
// deleted, while the cloud has said for more than a minute that there is no
// instance; Unknown, with the reason, while the cloud cannot be asked; False
// once the instance was found or the kubelet has reported. A Node that was
// never missing does not have it.
const ConditionMissing corev1.NodeConditionType = "CloudInstanceMissing"

// reasonUnconfirmed is the reason of a deletion that waits only for time and
// more answers.
const reasonUnconfirmed = "AbsenceUnconfirmed"

func deletionHeld(r refusal) event {
	return event{corev1.EventTypeWarning, "NodeDeletionHeld", r.reason + ": " + r.message}
}

func deletionResumed(was, why string) event {
	return event{corev1.EventTypeNormal, "NodeDeletionResumed", fmt.Sprintf("The deletion was held (%s) and goes on: %s.", was, why)}
}

func deletionCanceled(r refusal) event {
	return event{corev1.EventTypeNormal, "NodeDeletionCanceled", r.reason + ": " + r.message}
}

// deletingNode and deletingNodeFailed are upstream's events, byte for byte
// (upstream-behaviour 4.1).
func deletingNode(name string) event {
	return event{corev1.EventTypeNormal, "DeletingNode", fmt.Sprintf("Deleting node %s because it does not exist in the cloud provider", name)}
}

func deletingNodeFailed(name string, err error) event {
	if theirs := errors.Unwrap(err); theirs != nil {
		err = theirs // without our own words
	}
	return event{corev1.EventTypeWarning, "DeletingNodeFailed", fmt.Sprintf("Failed deleting node %s: %s", name, cut(err))}
}

func readFailed(err error) refusal {
	return refusal{"ReadFailed", "The instance is gone, and the Node cannot be read from the API server for the last look. " +
		"Check the cloud-controller-manager's RBAC rules. It is tried again. (" + cut(err) + ")"}
}

func deleteFailed(err error) refusal {
	if kube.IsStale(err) {
		return refusal{"NodeKeepsChanging", "The instance is gone, and the Node is written so often by others that it cannot be deleted as it was last seen. " +
			"It is tried again. (" + cut(err) + ")"}
	}
	return refusal{"DeleteFailed", "The instance is gone, and the API server does not let the Node be deleted. " +
		"Check the cloud-controller-manager's RBAC rules and admission webhooks. It is tried again. (" + cut(err) + ")"}
}

func kubeletReports() refusal {
	return refusal{"KubeletReports", "The kubelet reports again. The Node stays."}
}

func instanceFound() refusal {
	return refusal{"InstanceFound", "The cloud says that the instance exists. The Node stays."}
}

func deletionOff() refusal {
	return refusal{"DeletionDisabled", "The cloud says that the instance does not exist, and --node-deletion=false keeps every Node. Delete the Node by hand."}
}

func absenceUnconfirmed(e evidence, l Limits, needed time.Duration) refusal {
	return refusal{reasonUnconfirmed, fmt.Sprintf("The kubelet is silent, and the cloud has said %d of %d times that the instance does not exist. "+
		"The Node is deleted if that stays so for %v.", min(e.absences, l.Absences), l.Absences, needed)}
}

func tooManyAbsent(k crowd, l Limits) refusal {
	return refusal{"TooManyAbsent", fmt.Sprintf("%d of %d Nodes are absent from the cloud together, more than %v. That may be a wrong answer, so the Node is kept "+
		"until it has been absent for %v. Check the cloud's region, project and credentials; if the instance is gone, the Node may be deleted by hand.",
		k.absent, k.nodes, l.Crowd, l.CrowdAbsentFor)}
}

func deletionPaced(k crowd, pace int) refusal {
	return refusal{"DeletionPaced", fmt.Sprintf("%d of %d Nodes are absent from the cloud together, and %d of them are deleted in a minute. The Node waits its turn.",
		k.absent, k.nodes, pace)}
}

func contradicts(liar *corev1.Node) refusal {
	return refusal{"CloudContradictsKubelet", fmt.Sprintf("The cloud says that the instance of Node %s does not exist either, and that Node's kubelet reports, "+
		"so the cloud's answers are not trusted. Check the credentials, project and region of the cloud-controller-manager; "+
		"if Node %s is not of this cloud, label it "+LabelExclude+".", liar.Name, liar.Name)}
}

func noWitness(w witnesses) refusal {
	return refusal{"NoWitness", fmt.Sprintf("The cloud says that the instance does not exist, and has confirmed too few of %d other Nodes like this one since (%d that report), "+
		"so the answer is not trusted. Check the cloud and its credentials, or delete the Node by hand.", w.others, w.seen)}
}

func noNodeLeft() refusal {
	return refusal{"NoWitness", "The cloud says that the instance does not exist, and no other Node of this provider and region is left by which the answer " +
		"could be tested. See --node-deletion-without-witness-after, or delete the Node by hand."}
}

func foreign(node *corev1.Node) refusal {
	return refusal{"ForeignProviderID", fmt.Sprintf("The cloud provider has not confirmed any Node whose provider ID is like %q, so this Node counts as another provider's "+
		"and is left alone. If it is this provider's, check the credentials; if it is not, label it "+LabelExclude+".", node.Spec.ProviderID)}
}

// noAnswer tells why nobody could say whether the instance exists. "Not found"
// as an error is no answer: providers return it for much else.
func noAnswer(err error) refusal {
	if cloud.KindOf(err) != cloud.NotFound {
		return refusalOf(err)
	}
	return refusal{refusals[cloud.Failed].reason, "The provider has failed with \"instance not found\", where it should have said that the instance does not exist. " +
		"An error is no evidence. It is tried again. (" + cut(err) + ")"}
}

// unanswered tells why the cloud could not be asked.
func unanswered(r refusal) refusal {
	return refusal{r.reason, "The kubelet is silent, and whether the instance exists is not known. The Node is kept. " + r.message}
}
