package certificate

import (
	"fmt"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
)

const (
	onRequest = "CertificateSigningRequest"
	// whenHeld is the field Condition of some of the reasons. A request with one of
	// these reasons waits, and is never denied.
	whenHeld = "none, the request waits"
)

var held = message.Reason{
	Name: "ServingCertificateHeld", On: "Node", Type: corev1.EventTypeWarning,
	When: "The request of the Node's kubelet for a serving certificate is not approved. The text begins with the reason.",
	Do:   "See the reason, under CertificateSigningRequests.",
}

var approved = message.Reason{
	Name: "FairleadKubeletServing", On: onRequest, Condition: string(certificatesv1.CertificateApproved),
	When: "The cloud has confirmed each name and address of the request. The message names the instance.",
}

// Reasons why a request waits. Some of them are also reasons to deny it.
var (
	malformed = message.Reason{
		Name: "MalformedRequest", On: onRequest, Condition: string(certificatesv1.CertificateDenied),
		When: "The request is not exactly one signed certificate request of at most 4 KiB and 64 names.",
		Do:   "Find out what has made it. A kubelet makes no such request.",
	}
	wrongSubject = message.Reason{
		Name: "WrongSubject", On: onRequest, Condition: string(certificatesv1.CertificateDenied),
		When: "The request was not made by a Node, has a subject other than the Node's, or asks for something that no kubelet needs.",
		Do:   "Find out what has made it. A kubelet makes no such request.",
	}
	wrongUsages = message.Reason{
		Name: "WrongUsages", On: onRequest, Condition: string(certificatesv1.CertificateDenied),
		When: "The usages of the request are not those of a kubelet's serving certificate.",
		Do:   "Find out what has made it. A kubelet makes no such request.",
	}
	weakKey = message.Reason{
		Name: "WeakKey", On: onRequest, Condition: string(certificatesv1.CertificateDenied),
		When: "The key is not accepted. It must be RSA of 2,048 to 8,192 bits, ECDSA of at least 256 bits, or Ed25519.",
		Do:   "Find out what has made it. A kubelet makes an ECDSA key of 256 bits.",
	}
	tooLong = message.Reason{
		Name: "TooLong", On: onRequest, Condition: string(certificatesv1.CertificateDenied),
		When: "The certificate would be valid for longer than --serving-certificate-longest.",
		Do:   "Find out what has made the request, or increase the flag's value.",
	}
	addressUnproven = message.Reason{
		Name: "AddressUnproven", On: onRequest, Condition: string(certificatesv1.CertificateDenied),
		When: "The request names an address or a DNS name that the cloud's answer about the instance does not contain.",
		Do:   "Give this address or name to the instance, or correct the kubelet's --node-ip or --hostname-override.",
	}
	noNode = message.Reason{
		Name: "NoNode", On: onRequest, Condition: whenHeld,
		When: "The Node that has made the request does not exist, is being deleted, or does not belong to this daemon. No event is recorded.",
		Do:   "Nothing at first: a kubelet may ask before it has created its Node.",
	}
	identityUnproven = message.Reason{
		Name: "IdentityUnproven", On: onRequest, Condition: whenHeld,
		When: "The cloud has no instance with the Node's name or with its provider ID, or the two lead to different instances.",
		Do:   "Check that the Node is named like its instance. If its provider ID is wrong, delete the Node and let the kubelet register it again.",
	}
	identityContested = message.Reason{
		Name: "IdentityContested", On: onRequest, Condition: whenHeld,
		When: "Another Node has the provider ID of the instance. The daemon approves no request of these Nodes.",
		Do:   "Find out which of the Nodes runs on the instance, and delete the other one.",
	}
	tooMany = message.Reason{
		Name: "TooMany", On: onRequest, Condition: whenHeld,
		When: "The Node has newer requests, the cloud was asked about the Node too often, or too many requests were approved within a minute.",
		Do:   "Nothing at first. If it lasts, find out why the kubelet makes so many requests.",
	}
)

// Reasons returns every reason that this controller records or shows. The text of the
// event ServingCertificateHeld begins with another of these reasons. While the cloud
// cannot be asked, it begins with a reason of the condition CloudInitialized.
func Reasons() []message.Reason {
	return []message.Reason{
		held, approved, malformed, wrongSubject, wrongUsages, weakKey, tooLong, addressUnproven,
		noNode, identityUnproven, identityContested, tooMany,
	}
}

// isHeld returns the event that is recorded on a Node and says why its request waits.
func isHeld(o observed, c message.Cause) message.Event {
	return held.Event(fmt.Sprintf("%s: %s %s", c.Reason, c.Message, requestfact.About(o.request.Name)))
}

// isProven returns the cause of the approval. Its message has facts that an auditor can
// check.
func isProven(o observed) message.Cause {
	i := o.answer.instances()[0]
	return approved.Cause(fmt.Sprintf("The cloud says that the Node is the instance %s, and that it has each name and address of the request. The cloud was asked %v before this approval, after the request was made.",
		message.Value(i.providerID), o.now.Sub(o.answer.asked).Round(time.Millisecond)))
}

func isMalformed(what string) *message.Cause {
	return new(malformed.Cause("The request for a serving certificate is not valid: " + what + ". A kubelet makes no such request."))
}

func isWrongSubject(what string) *message.Cause {
	return new(wrongSubject.Cause("The request for a serving certificate asks for something that a kubelet may not have: " + what + "."))
}

func areWrongUsages(what string) *message.Cause {
	return new(wrongUsages.Cause("The request for a serving certificate has other usages than a kubelet's: " + what + "."))
}

func isWeak(what string) *message.Cause {
	return new(weakKey.Cause("The request for a serving certificate has " + what +
		". The key must be RSA of 2,048 to 8,192 bits, ECDSA of at least 256 bits, or Ed25519."))
}

func lastsTooLong(asked, longest time.Duration) *message.Cause {
	return new(tooLong.Cause(fmt.Sprintf("The request asks for a serving certificate for %v. --serving-certificate-longest allows %v.", asked, longest)))
}

func isNotProven(name string, i instance) *message.Cause {
	var has []string
	for _, a := range i.addresses[:min(len(i.addresses), maxShown)] {
		has = append(has, message.Value(a.Address))
	}
	if more := len(i.addresses) - len(has); more > 0 {
		has = append(has, fmt.Sprintf("and %d more", more))
	}
	return new(addressUnproven.Cause(fmt.Sprintf("%s is not an address of %s (it has: %s). Give this address or name to the instance, or correct the kubelet's --node-ip or --hostname-override.",
		message.Value(name), message.Value(i.providerID), strings.Join(has, ", "))))
}

// maxShown is the maximum number of addresses that a message lists.
const maxShown = 8

func nodeIsMissing(name string) *message.Cause {
	return new(noNode.Cause(fmt.Sprintf("There is no Node %q.", message.Value(name))))
}

func nodeIsNotMine(why string) *message.Cause {
	return new(noNode.Cause("The request is left to others, because " + why + "."))
}

func isUnproven(what string) *message.Cause {
	return new(identityUnproven.Cause("The cloud does not confirm which instance this Node is: " + what +
		". Check that the Node is named like its instance. If its provider ID is wrong, delete the Node and let the kubelet register it again."))
}

func contested(o observed) *message.Cause {
	return new(identityContested.Cause(fmt.Sprintf("The Nodes %s and %s have the provider ID of one instance, so none of them gets a serving certificate. "+
		"Find out which of the Nodes runs on the instance, and delete the other one.", message.Value(o.node.Name), message.Value(o.holders[0].Name))))
}

func hasTooManyPending(limit int) *message.Cause {
	return new(tooMany.Cause(fmt.Sprintf("The kubelet has made %d newer requests for a serving certificate, and the daemon looks only at these.", limit)))
}

func tooManyQuestions() message.Cause {
	return tooMany.Cause("The kubelet makes so many requests for serving certificates that the daemon does not ask the cloud about its Node for now.")
}

func tooManyApprovals() message.Cause {
	return tooMany.Cause("Within the last minute, so many requests for serving certificates were approved that --serving-certificate-approvals-per-minute allows no more.")
}
