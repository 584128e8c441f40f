package node

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// bars keep a described instance from being the Node's; the first that is not
// nil counts.
var bars = []func(*corev1.Node, instance) *message.Cause{otherInstanceBars, namelessInstanceBars, invalidLabelBars, unmetAddressBars}

// A Node with another provider ID than the cloud's is not the instance that
// the cloud has described, and a provider ID can never be changed (S6).
func otherInstanceBars(node *corev1.Node, i instance) *message.Cause {
	if !isOther(node, i) {
		return nil
	}
	return otherInstance(node.Spec.ProviderID, i.providerID)
}

// Without a provider ID nothing could find the instance again. Providers that
// have none at all are upstream's exception (upstream-behaviour 3.3).
func namelessInstanceBars(node *corev1.Node, i instance) *message.Cause {
	if node.Spec.ProviderID != "" || i.providerID != "" || i.nameless {
		return nil
	}
	return providerIDMissing()
}

// The API server would refuse all labels because of one.
func invalidLabelBars(_ *corev1.Node, i instance) *message.Cause {
	problems := invalidLabels(i)
	if len(problems) == 0 {
		return nil
	}
	return labelsInvalid(problems)
}

func unmetAddressBars(node *corev1.Node, i instance) *message.Cause {
	_, unmet := wantedAddresses(node, i.addresses)
	if unmet == nil {
		return nil
	}
	return addressNotOffered(*unmet)
}

// initialize releases a Node for scheduling: the taint goes in the same write
// as provider ID and labels, and after the addresses (S6).
func initialize(o observed) plan {
	switch o.answer.given {
	case notAsked:
		return plan{do: ask, why: "the Node waits for its instance to be described", memory: o.memory}
	case refused:
		return waiting(o, o.answer.cause)
	case described:
	}
	for _, bar := range bars {
		if r := bar(o.node, o.answer.instance); r != nil {
			return waiting(o, *r)
		}
	}
	return plan{
		do:     release,
		why:    "the cloud has described the instance",
		writes: writes{addresses: changedAddresses(o), change: released(o), events: []message.Event{hasSynced()}},
		memory: memory{uid: o.node.UID},
	}
}

// released is the write that ends the initialisation.
func released(o observed) change {
	var (
		i      = o.answer.instance
		c      = change{labels: map[string]*string{}}
		taints = slices.DeleteFunc(slices.Clone(o.node.Spec.Taints), func(t corev1.Taint) bool {
			return t.Key == api.TaintExternalCloudProvider
		})
	)
	c.taints = &taints
	if o.node.Spec.ProviderID == "" {
		c.providerID = i.providerID
	}
	maps.Copy(c.labels, differing(o.node.Labels, sizeLabels(i)))
	maps.Copy(c.labels, differing(o.node.Labels, placeLabels(i)))
	extra, record := additionalLabels(o.node, i.labels, o.policy)
	maps.Copy(c.labels, extra)
	c.annotations = record
	return c
}
