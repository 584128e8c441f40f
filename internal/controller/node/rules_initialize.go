package node

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// preconditions are the checks that a Node has to pass before its release. The first
// one that fails returns the cause that the waiting Node shows.
var preconditions = []func(observed) *message.Cause{
	isSameInstance, hasProviderID, providerIDIsUsable, providerIDIsFree, labelsAreValid, addressesAreUsable, addressIsOffered, hasIP,
}

// isSameInstance returns a cause if the cloud has described an instance that is not the
// Node's (promise S6).
func isSameInstance(o observed) *message.Cause {
	if !isOther(o) {
		return nil
	}
	return otherInstance(o)
}

// hasProviderID returns a cause if neither the Node nor the cloud's answer has a
// provider ID. Without one, nothing could find the instance again. Providers that have
// no provider IDs are an exception, as with upstream (upstream-behaviour 3.3).
func hasProviderID(o observed) *message.Cause {
	if i := o.answer.instance; o.node.Spec.ProviderID != "" || i.providerID != "" || i.nameless {
		return nil
	}
	return providerIDMissing()
}

// labelsAreValid returns a cause if a label is not valid, because the API
// server would then reject all labels.
func labelsAreValid(o observed) *message.Cause {
	problems := invalidLabels(o.answer.instance)
	if len(problems) == 0 {
		return nil
	}
	return labelsInvalid(problems)
}

// addressIsOffered returns a cause if the cloud does not offer the address that
// the kubelet was told to use.
func addressIsOffered(o observed) *message.Cause {
	_, unmet := wantedAddresses(o.node, o.answer.instance.addresses)
	if unmet == nil {
		return nil
	}
	return addressNotOffered(*unmet, o.answer.instance)
}

// initialize returns the plan for a Node that is not initialised yet: to ask the cloud,
// to wait, or to release the Node for scheduling. A release first writes the addresses.
// Its last write sets the provider ID and the labels, and removes the taint (promise
// S6).
func initialize(o observed) plan {
	if !o.unwritten.IsZero() {
		return waits(o, o.unwritten)
	}
	switch o.answer.given {
	case notAsked:
		return asks(o)
	case refused:
		return waits(o, o.answer.cause)
	case described:
	}
	for _, unmet := range preconditions {
		if cause := unmet(o); cause != nil {
			return waits(o, *cause)
		}
	}
	p := plan{
		do:     release,
		why:    "the cloud has described the instance",
		writes: writes{addresses: changedAddresses(o), change: released(o)},
		memory: o.memory.afterWait(),
	}
	notices := truncationsOf(o.answer.instance)
	p.events = append([]message.Event{hasSynced()}, notices...)
	_, p.memory.notices = newNotices(notices, "") // The first update does not repeat them.
	p.memory.released = o.always                  // The condition comes after the removal of the taint.
	// A write of the status is due anyway. If the release is refused, the addresses are
	// written already at the next attempt, and the condition stays meanwhile.
	if p.addresses != nil && !o.always && nodefact.Condition(o.node, ConditionInitialized) != nil {
		p.without, p.memory.endedAt = ConditionInitialized, o.now
	}
	return p
}

// released returns the write that ends the initialisation.
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
	policy := o.policy
	policy.Overwrite = false
	extra, record := additionalLabels(o.node, i.labels, policy)
	maps.Copy(c.labels, extra)
	if o.policy.Additional {
		c.annotations = recordOf(record, o.node)
	}
	if o.marks && c.providerID != "" {
		c.labels[nodefact.LabelIdentity] = new(nodefact.Identity(o.node.UID, c.providerID))
	}
	return c
}
