// Package nodecause has the reasons and messages that a Node shows after a failed
// call to the cloud about that Node. The controllers that initialise Nodes, remove
// Nodes and approve serving certificates use the same reasons and messages.
package nodecause

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// failure has the reason and the message for one kind of failure. text is the start
// of the message.
type failure struct {
	kind               cloud.Kind
	reason, text, when string
	do                 string
}

// NotFound is the reason for the answer that there is no instance.
const NotFound = "InstanceNotFound"

const (
	askProvider = "Report it to the author of the provider, with the text of the error."
	nothing     = "Nothing at first. If it lasts, check the cloud's status page and the network to its API."
)

var failures = []failure{
	{
		kind: cloud.NotFound, reason: NotFound,
		text: "The cloud has no instance for this Node. Check that the Node has the name or the provider ID of its instance, and that the credentials are for the right account.",
		when: "The cloud has no instance with the Node's name or provider ID.",
		do:   "Check that the Node has the name or the provider ID of its instance, and that the credentials are for the right account.",
	},
	{
		kind: cloud.Denied, reason: "CloudDenied",
		text: "The cloud denies access. Check the credentials of the cloud-controller-manager and what they allow.",
		when: "The cloud denies access.",
		do:   "Check the credentials of the cloud-controller-manager and what they allow.",
	},
	{
		kind: cloud.Throttled, reason: "CloudThrottled",
		text: "The cloud's request quota is used up. The cloud is asked again as soon as there is room. Something else may be using this account's request quota.",
		when: "The cloud's request quota is used up.",
		do:   "Find out what else uses this account's request quota, or have the quota raised.",
	},
	{
		kind: cloud.Unavailable, reason: "CloudUnavailable",
		text: "The cloud cannot be reached or has an internal error.",
		when: "The cloud cannot be reached or has an internal error.",
		do:   nothing,
	},
	{
		kind: cloud.Invalid, reason: "CloudRejected",
		text: "The cloud says that the call about this Node is not valid.",
		when: "The cloud says that the call about the Node is not valid.",
		do:   "Check the Node's name and provider ID. The message has the cloud's error.",
	},
	{
		kind: cloud.Conflict, reason: "CloudConflict",
		text: "The instance is locked or busy in the cloud.",
		when: "The instance is locked or busy in the cloud.",
		do:   "Nothing at first. If it lasts, check in the cloud what locks the instance.",
	},
	{
		kind: cloud.QuotaExceeded, reason: "CloudQuotaExceeded",
		text: "The account's quota for something that the provider needs for this Node is used up. Have the quota raised, or delete what is not needed any more.",
		when: "The account's quota for something that the provider needs for the Node is used up.",
		do:   "Have the quota raised, or delete what is not needed any more.",
	},
	{
		kind: cloud.Slow, reason: "CloudSlow",
		text: "The cloud has not answered yet.",
		when: "The cloud has not answered yet. The call is still under way.",
		do:   nothing,
	},
	{
		kind: cloud.TimedOut, reason: "CloudTimedOut",
		text: "The cloud has not answered in time.",
		when: "The cloud has not answered in time.",
		do:   nothing,
	},
	{
		kind: cloud.Panicked, reason: "ProviderPanicked",
		text: "The provider's code has panicked. The log has its stack. This is a bug in the provider.",
		when: "The provider's code has panicked.",
		do:   "Report it to the author of the provider, with the stack from the log.",
	},
	{
		kind: cloud.NoAnswer, reason: "NoMetadata",
		text: "The provider has returned neither metadata nor an error: it does not know the instance yet.",
		when: "The provider has returned neither metadata nor an error.",
		do:   "Nothing at first: the provider may not know the instance yet. If it lasts, report it to the author of the provider.",
	},
	{
		kind: cloud.NotImplemented, reason: "NotImplemented",
		text: "The provider does not implement the call that asks about the Node.",
		when: "The provider does not implement the call that asks about the Node.",
		do:   askProvider,
	},
	{
		kind: cloud.Failed, reason: "CloudFailed",
		text: "The provider has returned an error whose kind the daemon does not know. The text of the error follows.",
		when: "The provider has returned an error whose kind the daemon does not know.",
		do:   "Read the provider's error in the message.",
	},
}

// Of returns the cause to show for an error that a question to the cloud has returned.
func Of(err error) message.Cause {
	f := of(cloud.KindOf(err))
	return message.Reason{Name: f.reason}.Cause(f.text + " The call is retried. (" + message.Cut(err) + ")")
}

// OfExistence returns the cause to show for an error of InstanceExists. The error
// "not found" does not mean that the instance does not exist, because providers
// return it for many other reasons. An operator who knows the provider can set a flag
// that makes the error count as an absence. The message names the flag.
func OfExistence(err error) message.Cause {
	if cloud.KindOf(err) != cloud.NotFound {
		return Of(err)
	}
	return message.Reason{Name: of(cloud.Failed).reason}.Cause("The provider has failed with \"instance not found\", " +
		"where it should have said that the instance does not exist. An error is not evidence, unless --node-deletion-not-found-error=absent is set, " +
		"the Node has a provider ID and nothing else has failed. The call is retried. (" + message.Cut(err) + ")")
}

// OfEarlierQuestion returns the cause to show if the cloud has answered a question that
// was asked before the kubelet last reported, and no later one.
func OfEarlierQuestion() message.Cause {
	return message.Reason{Name: of(cloud.Slow).reason}.Cause("The cloud has answered a question from before the kubelet last reported, and that answer does not count. " +
		"The cloud is asked again.")
}

// of returns the failure for a kind of error. For an unknown kind, it returns the
// failure for the kind Failed.
func of(kind cloud.Kind) failure {
	i := slices.IndexFunc(failures, func(f failure) bool { return f.kind == kind })
	if i < 0 {
		return of(cloud.Failed)
	}
	return failures[i]
}

// Reasons returns all reasons that Of can return, for a condition of this type.
func Reasons(condition corev1.NodeConditionType) []message.Reason {
	return reasons(condition, nil)
}

// ReasonsOfExistence returns all reasons that OfExistence can return, for a condition
// of this type.
func ReasonsOfExistence(condition corev1.NodeConditionType) []message.Reason {
	return reasons(condition, []cloud.Kind{cloud.NotFound, cloud.NoAnswer})
}

func reasons(condition corev1.NodeConditionType, without []cloud.Kind) []message.Reason {
	var all []message.Reason
	for _, f := range failures {
		if slices.Contains(without, f.kind) {
			continue
		}
		all = append(all, message.Reason{Name: f.reason, On: "Node", Condition: string(condition), When: f.when, Do: f.do})
	}
	return all
}
