package kit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// Instances finds the instances of Nodes. T is the cloud's type for an instance.
type Instances[T any] struct {
	// ParseID returns the cloud's ID that a provider ID contains. Its error is
	// never cloudprovider.InstanceNotFound.
	ParseID func(providerID string) (id string, err error)
	// ByID returns the instance with an ID, in whatever state. The error wraps
	// cloudprovider.InstanceNotFound only if the cloud itself said that there is no
	// instance with this ID.
	ByID func(ctx context.Context, id string) (T, error)
	// Named returns all instances with a name. It may also return instances with other
	// names. If the cloud's list may be incomplete, Named returns an error.
	Named func(ctx context.Context, name string) ([]T, error)
	// Identify returns the identity of an instance.
	Identify func(T) Identity
}

// Identity identifies an instance.
type Identity struct {
	ID, Name string
	// Gone means that the instance is terminated and will never run again, even if the
	// cloud still lists it.
	Gone bool
}

// Find returns the instance of a Node. If the Node has a provider ID, Find looks
// only for that ID. Otherwise it looks for the Node's name. The error wraps
// cloudprovider.InstanceNotFound only if the cloud said that the instance does not
// exist or is gone. If two instances have the name, the error is an *InvalidError,
// because nobody knows which of them belongs to the Node.
func (i Instances[T]) Find(ctx context.Context, node *corev1.Node) (T, error) {
	var none T
	if node.Spec.ProviderID == "" {
		found, err := i.Named(ctx, node.Name)
		if err != nil {
			return none, fmt.Errorf("instances named %s: %w", node.Name, err)
		}
		return i.named(node.Name, found)
	}
	found, is, err := i.listed(ctx, node.Spec.ProviderID)
	switch {
	case err != nil:
		return none, err
	case is.Gone:
		return none, absent("instance " + is.ID)
	}
	return found, nil
}

// FindGone returns the instance of a Node if the cloud lists it as gone. It looks only for
// the Node's provider ID, because a name can be that of a later instance. It returns
// false if the Node has no provider ID, if the cloud does not list the instance, or if it
// lists it as not gone.
func (i Instances[T]) FindGone(ctx context.Context, node *corev1.Node) (gone T, found bool, err error) {
	var none T
	if node.Spec.ProviderID == "" {
		return none, false, nil
	}
	gone, is, err := i.listed(ctx, node.Spec.ProviderID)
	switch {
	case errors.Is(err, cloudprovider.InstanceNotFound):
		return none, false, nil
	case err != nil || !is.Gone:
		return none, false, err
	}
	return gone, true, nil
}

// listed returns the instance with a provider ID, in whatever state.
func (i Instances[T]) listed(ctx context.Context, providerID string) (T, Identity, error) {
	var none T
	id, err := i.ParseID(providerID)
	if err != nil {
		return none, Identity{}, err
	}
	found, err := i.ByID(ctx, id)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return none, Identity{}, absent("instance " + id)
	}
	if err != nil {
		return none, Identity{}, fmt.Errorf("instance %s: %w", id, err)
	}
	is := i.Identify(found)
	if is.ID != id {
		return none, Identity{}, fmt.Errorf("instance %s: the cloud answered with the instance %q", id, is.ID)
	}
	return found, is, nil
}

// Exists is an implementation of InstancesV2.InstanceExists. It returns false without
// an error only if the cloud said that the instance does not exist or is gone.
func (i Instances[T]) Exists(ctx context.Context, node *corev1.Node) (bool, error) {
	_, err := i.Find(ctx, node)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Found has what Find would have returned for one Node.
type Found[T any] struct {
	Instance T
	Err      error
}

// FindAll returns an answer for each Node, in the order of nodes. It makes no call
// for a Node whose instance is in the list. It asks the cloud separately about
// each other Node. So an instance that the list lacks does not count as absent: the
// list may be incomplete, old or of another region.
func (i Instances[T]) FindAll(ctx context.Context, nodes []*corev1.Node, list []T) []Found[T] {
	byID, byName := map[string][]T{}, map[string][]T{}
	for _, instance := range list {
		is := i.Identify(instance)
		if !is.Gone {
			byID[is.ID] = append(byID[is.ID], instance)
			byName[is.Name] = append(byName[is.Name], instance)
		}
	}
	answers := make([]Found[T], len(nodes))
	for n, node := range nodes {
		var listed []T
		if node.Spec.ProviderID == "" {
			listed = byName[node.Name]
		} else if id, err := i.ParseID(node.Spec.ProviderID); err == nil {
			listed = byID[id]
		}
		switch {
		case len(listed) == 0:
			answers[n].Instance, answers[n].Err = i.Find(ctx, node)
		case node.Spec.ProviderID == "":
			answers[n].Instance, answers[n].Err = i.named(node.Name, listed)
		default:
			answers[n].Instance = listed[0]
		}
	}
	return answers
}

// named returns the only instance with the name. Pages of a list may overlap, so one
// instance may be in the list twice.
func (i Instances[T]) named(name string, among []T) (T, error) {
	var none, found T
	var ids []string
	for _, instance := range among {
		if is := i.Identify(instance); is.Name == name && !is.Gone && !slices.Contains(ids, is.ID) {
			found = instance
			ids = append(ids, is.ID)
		}
	}
	switch len(ids) {
	case 0:
		return none, absent("instance named " + name)
	case 1:
		return found, nil
	}
	slices.Sort(ids)
	return none, Invalidf("%d instances are named %s: %s", len(ids), name, strings.Join(ids, ", "))
}

func absent(what string) error { return fmt.Errorf("%s: %w", what, cloudprovider.InstanceNotFound) }
