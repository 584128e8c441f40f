package certificate

import (
	"crypto/x509"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
)

// missings are the rules that can make a request wait before the cloud is asked.
var missings = []func(observed) *message.Cause{isSuperseded, hasNoNode, isContested}

// isSuperseded returns a cause if the Node has Limits.PendingPerNode newer requests.
// A kubelet waits only for its newest request.
func isSuperseded(o observed) *message.Cause {
	if o.newer < o.limits.PendingPerNode {
		return nil
	}
	return hasTooManyPending(o.limits.PendingPerNode)
}

func hasNoNode(o observed) *message.Cause {
	if o.node != nil {
		return nil
	}
	return nodeIsMissing(requestfact.RequesterOf(o.request))
}

// isOfAnother returns a cause if the request's Node exists, but belongs to another
// daemon or is being deleted. Another program might want to approve the request.
func isOfAnother(o observed) *message.Cause {
	if o.node == nil {
		return nil
	}
	why := whyAlone(o.claim, o.node)
	if why == "" {
		return nil
	}
	return nodeIsNotMine(why)
}

// isContested returns a cause if several Nodes claim one instance. A kubelet chooses
// the provider ID with which it creates its Node, so none of these Nodes is believed.
func isContested(o observed) *message.Cause {
	if len(o.holders) == 0 {
		return nil
	}
	return contested(o)
}

// identityRules are the rules about the cloud's answer, in the order in which they
// are applied.
var identityRules = []func(observed) *message.Cause{isUnanswered, isReplaced, isUnnamed, isTwoInstances, isContested}

// isUnanswered returns a cause if the cloud has named no instance. The cause is part of
// the answer.
func isUnanswered(o observed) *message.Cause {
	if o.answer.given == described {
		return nil
	}
	return &o.answer.cause
}

// isReplaced returns a cause if the Node's label LabelIdentity was written for
// another provider ID or for another Node.
func isReplaced(o observed) *message.Cause {
	if mark, ok := o.node.Labels[nodefact.LabelIdentity]; !ok || mark == nodefact.Identity(o.node.UID, o.node.Spec.ProviderID) {
		return nil
	}
	return isUnproven("the label " + nodefact.LabelIdentity + " was written for another Node or provider ID")
}

// isUnnamed returns a cause if only the Node's provider ID leads to the instance, and
// this manager has not written that ID. When this manager writes the ID, it also sets
// the label LabelIdentity, which kubelets cannot set.
func isUnnamed(o observed) *message.Cause {
	if o.answer.byName != nil {
		return nil
	}
	if _, marked := o.node.Labels[nodefact.LabelIdentity]; marked && o.answer.byID != nil {
		return nil
	}
	return isUnproven("the provider cannot look up an instance by its name, and this manager has not written the Node's provider ID itself")
}

// isTwoInstances returns a cause if the Node's name and its provider ID do not lead
// to the same instance.
func isTwoInstances(o observed) *message.Cause {
	var ids []string
	for _, i := range o.answer.instances() {
		if i.providerID == "" {
			return isUnproven("the provider does not name the ID of the instance")
		}
		ids = append(ids, i.providerID)
	}
	if ids[0] != ids[len(ids)-1] {
		return isUnproven("its name leads to the instance " + message.Value(ids[0]) + ", and its provider ID to " + message.Value(ids[1]))
	}
	return nil
}

// instances returns the instances that the cloud has named: one or two.
func (a answer) instances() []instance {
	var all []instance
	for _, i := range []*instance{a.byName, a.byID} {
		if i != nil {
			all = append(all, *i)
		}
	}
	return all
}

// namesAreProven returns a cause unless the instance has each name and each address
// of the request. The Node's own name is proven by the credentials of its kubelet.
func namesAreProven(o observed, csr *x509.CertificateRequest) *message.Cause {
	all := o.answer.instances()
	for _, name := range csr.DNSNames {
		if name != o.node.Name && !hasAll(all, func(a string) bool { return strings.EqualFold(a, name) && !isIP(a) }) {
			return isNotProven(name, all[0])
		}
	}
	for _, ip := range csr.IPAddresses {
		want, _ := netip.AddrFromSlice(ip) // x509 parses 4 and 16 bytes only.
		if !hasAll(all, func(a string) bool { has, err := netip.ParseAddr(a); return err == nil && has.Unmap() == want.Unmap() }) {
			return isNotProven(want.Unmap().String(), all[0])
		}
	}
	return nil
}

// hasAll reports whether each of the descriptions has an address that matches. All of
// them describe the same instance: one was found by name, and one by provider ID.
func hasAll(all []instance, matches func(string) bool) bool {
	for _, i := range all {
		if !slices.ContainsFunc(i.addresses, func(a corev1.NodeAddress) bool { return matches(a.Address) }) {
			return false
		}
	}
	return true
}

func isIP(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}
