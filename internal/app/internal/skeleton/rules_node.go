package skeleton

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Existence is the cloud's answer about the existence of an instance.
type Existence string

// The answers.
const (
	Unknown Existence = "" // the cloud was not asked, or did not know
	Absent  Existence = "absent"
	Running Existence = "running"
	Down    Existence = "down" // the instance exists and is shut down
)

// Description is the cloud's answer to a question about the metadata of a Node's
// instance.
type Description struct {
	Instance cloud.Metadata
	Err      error
}

// Asks reports whether the skeleton's lifecycle controller asks the cloud about a
// Node (upstream-behaviour 4.1).
func Asks(node *corev1.Node) bool {
	ready := nodefact.Condition(node, corev1.NodeReady)
	return ready == nil || ready.Status != corev1.ConditionTrue
}

// Waits reports whether a Node is still to be initialised (upstream-behaviour 3.2).
func Waits(node *corev1.Node) bool { return nodefact.IsUninitialized(node) }

// Monitored returns what one round of the lifecycle controller does to a Node
// (upstream-behaviour 4.1). The skeleton also deletes young Nodes and Nodes that
// wait to be initialised, and nothing bounds the deletions (4.3).
func Monitored(node *corev1.Node, said Existence) step.Step {
	s := step.Step{Object: "node/" + node.Name, Effect: step.None, Do: nothing}
	shutdown := nodefact.HasTaint(node, api.TaintNodeShutdown)
	switch {
	case !Asks(node) && shutdown:
		s.Effect, s.Do, s.Why = step.Update, "update", "the shutdown taint is removed, because Ready is True"
	case !Asks(node):
		s.Why = "Ready is True"
	case said == Absent:
		s.Effect, s.Do, s.Why = step.Delete, "delete", "Ready is not True, and the cloud has said once that there is no such instance"
	case said == Down && !shutdown:
		s.Effect, s.Do, s.Why = step.Update, "update", "the shutdown taint is added, because the instance is shut down"
	case said == Unknown:
		s.Why = "the cloud has not said whether the instance exists"
	default:
		s.Why = "the instance exists"
	}
	return s
}

// Initialised returns what the node controller does to a Node. The description is the
// cloud's answer, or nil if the cloud was not asked.
func Initialised(node *corev1.Node, said *Description) step.Step {
	s := step.Step{Object: "node/" + node.Name, Effect: step.None, Do: nothing}
	described := said != nil && said.Err == nil
	switch {
	case !Waits(node) && betaDiffers(node):
		s.Effect, s.Do, s.Why = step.Update, "update", "a label gets the value of its beta label"
	case !described:
		s.Why = "the cloud has not described the instance"
		if Waits(node) {
			s.Effect, s.Do = step.Wait, "wait"
		}
	case Waits(node):
		s.Effect, s.Do, s.Why = initialise(node, said.Instance)
	case addressesDiffer(node, said.Instance.Addresses):
		s.Effect, s.Do, s.Why = step.Update, "update", "the addresses are those of the cloud"
	default:
		s.Why = "type, zone and labels of an initialised Node are not looked at again" // upstream-behaviour 3.4
	}
	return s
}

// initialise follows upstream-behaviour 3.2 to 3.4. A provider ID that is already on
// the Node stays, whoever wrote it, and the skeleton reports nothing.
func initialise(node *corev1.Node, i cloud.Metadata) (effect step.Effect, do, why string) {
	if node.Spec.ProviderID == "" && i.ProviderID == "" && !i.Nameless {
		return step.Wait, "wait", "neither the cloud nor the Node has a provider ID"
	}
	if _, ok := wanted(node, i.Addresses); !ok {
		return step.Wait, "wait", "the annotation " + api.AnnotationAlphaProvidedIPAddr + " fits none of the cloud's addresses"
	}
	return step.Create, "initialise", "the cloud has described the instance"
}

// betaDiffers reports whether a stable label differs from its beta label. The beta
// label is the source (upstream-behaviour 3.5).
func betaDiffers(node *corev1.Node) bool {
	for beta, stable := range map[string]string{
		corev1.LabelFailureDomainBetaZone:   corev1.LabelTopologyZone,
		corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
		corev1.LabelInstanceType:            corev1.LabelInstanceTypeStable,
	} {
		if value, ok := node.Labels[beta]; ok && node.Labels[stable] != value {
			return true
		}
	}
	return false
}

// addressesDiffer reports whether the refresh would change the addresses. It ignores
// the order, because the API server groups the addresses by type (upstream-behaviour
// 3.6).
func addressesDiffer(node *corev1.Node, cloud []corev1.NodeAddress) bool {
	after, ok := wanted(node, cloud)
	return ok && len(cloud) > 0 && !slices.Equal(sorted(after), sorted(node.Status.Addresses))
}

func sorted(all []corev1.NodeAddress) []string {
	var lines []string
	for _, a := range all {
		lines = append(lines, string(a.Type)+" "+a.Address)
	}
	slices.Sort(lines)
	return lines
}

// wanted returns the addresses of a Node (upstream-behaviour 3.6). It returns false
// if the kubelet was told to use an address that the cloud does not have.
func wanted(node *corev1.Node, cloud []corev1.NodeAddress) (all []corev1.NodeAddress, ok bool) {
	all = slices.Clone(cloud)
	if !slices.ContainsFunc(all, isHostname) {
		for _, a := range node.Status.Addresses {
			if isHostname(a) {
				all = append(all, a)
			}
		}
	}
	if given, told := node.Annotations[api.AnnotationAlphaProvidedIPAddr]; told && len(cloud) > 0 {
		return preferred(all, given)
	}
	return all, true
}

// preferred moves the addresses that the kubelet was told to use to the front. It
// leaves out all other addresses of the same types.
func preferred(all []corev1.NodeAddress, given string) (addresses []corev1.NodeAddress, ok bool) {
	var first []corev1.NodeAddress
	matched := map[corev1.NodeAddressType]bool{}
	for text := range strings.SplitSeq(given, ",") {
		ip, err := netip.ParseAddr(text)
		found := false
		for _, a := range all {
			if other, wrong := netip.ParseAddr(a.Address); err == nil && wrong == nil && other == ip {
				first, matched[a.Type], found = append(first, a), true, true
			}
		}
		if !found {
			return nil, false
		}
	}
	others := slices.DeleteFunc(all, func(a corev1.NodeAddress) bool { return matched[a.Type] })
	return append(first, others...), true
}

func isHostname(a corev1.NodeAddress) bool { return a.Type == corev1.NodeHostName }
