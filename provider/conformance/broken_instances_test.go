package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

const scheme = "broken"

func providerID(id string) string { return scheme + "://" + id }

// brokenLegacyProviderID is an older form of a provider ID.
func brokenLegacyProviderID(id string) string { return scheme + ":///zone-a/" + id }

// instances implements cloudprovider.InstancesV2.
type instances struct {
	cloud *brokenCloud
	start int
	cache *cache
}

// cache is the last list of instances that a provider has read.
type cache struct {
	mu     sync.Mutex
	all    []machine // guarded by mu
	loaded time.Time // guarded by mu
}

func (c *cache) store(all []machine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all, c.loaded = slices.Clone(all), time.Now()
}

// load returns the list if it is new enough.
func (c *cache) load() (all []machine, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all), time.Since(c.loaded) < cacheTime
}

func (i instances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	byID := node.Spec.ProviderID != ""
	if i.cloud.habit == needsID && !byID {
		return false, errors.New("the Node has no provider ID")
	}
	found, err := i.find(ctx, node)
	var answered *apiError
	switch {
	case errors.Is(err, cloudprovider.InstanceNotFound):
		if byID && i.cloud.has("instances/gone-by-id") || !byID && i.cloud.has("instances/gone-by-name") {
			return false, err
		}
		return false, nil
	case errors.As(err, &answered) && answered.StatusCode == http.StatusForbidden && i.cloud.has("instances/fault-is-error"):
		return false, nil
	case errors.As(err, &answered) && i.cloud.has("instances/kinds"):
		return false, errors.New("the call has failed")
	case err == nil && found.state == stopped && i.cloud.has("instances/stopped"):
		return false, nil
	}
	return err == nil, err
}

func (i instances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	found, err := i.find(ctx, node)
	if err != nil {
		return errors.Is(err, cloudprovider.InstanceNotFound) && i.cloud.has("instances/gone-shutdown"), err
	}
	return found.state == stopped || found.state == starting && i.cloud.has("instances/in-between"), nil
}

func (i instances) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	if i.cloud.unusable.Swap(false) {
		return nil, errors.New("the configuration is not there")
	}
	found, err := i.find(ctx, node)
	switch {
	case errors.Is(err, cloudprovider.InstanceNotFound) && i.cloud.has("instances/gone-metadata"):
		return nil, nil
	case errors.Is(err, cloudprovider.InstanceNotFound) && i.cloud.has("instances/gone-metadata-kind"):
		return nil, errors.New("no such instance")
	case err != nil:
		return nil, err
	}
	metadata := &cloudprovider.InstanceMetadata{
		ProviderID:   providerID(found.id),
		InstanceType: "small", Zone: "zone-a", Region: "region-1",
		NodeAddresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: found.addresses[0]},
			{Type: corev1.NodeExternalIP, Address: found.addresses[1]},
		},
		AdditionalLabels: i.cloud.labels,
	}
	if !i.cloud.has("instances/no-alias") {
		metadata.AdditionalLabels = maps.Clone(metadata.AdditionalLabels)
	}
	switch {
	case i.cloud.has("instances/by-name") && node.Spec.ProviderID == "":
		metadata.ProviderID = ""
	case i.cloud.has("instances/id-round-trip") && i.start > 1:
		metadata.ProviderID = brokenLegacyProviderID(found.id)
	case i.cloud.has("instances/addresses"):
		metadata.NodeAddresses = append(metadata.NodeAddresses, metadata.NodeAddresses[0])
	case i.cloud.has("instances/ip"):
		metadata.NodeAddresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: found.name}}
	case i.cloud.has("instances/labels"):
		metadata.AdditionalLabels["node-role.kubernetes.io/worker"] = ""
	}
	return metadata, nil
}

// find returns the instance of a Node. If there is none, the error wraps
// InstanceNotFound.
func (i instances) find(ctx context.Context, node *corev1.Node) (machine, error) {
	if i.cloud.inflight.Add(1) > 4 && i.cloud.has("instances/parallel") {
		i.cloud.inflight.Add(-1)
		return machine{}, errors.New("too many callers")
	}
	defer i.cloud.inflight.Add(-1)
	if i.cloud.has("instances/parallel") {
		time.Sleep(time.Millisecond) // so that calls overlap
	}
	if i.cloud.has("instances/others-hang") {
		select {
		case i.cloud.busy <- struct{}{}:
			defer func() { <-i.cloud.busy }()
		case <-ctx.Done():
			return machine{}, ctx.Err()
		}
	}
	found, err := i.lookUp(ctx, node)
	if strings.HasPrefix(i.cloud.flaw, "cost/") {
		found, err = i.lookUp(ctx, node) // an unnecessary call
	}
	if err != nil {
		return found, err
	}
	return i.confused(found), nil
}

// confused returns the machine. With the flaw instances/two-nodes, each call after
// the 20th returns the machine of the previous call.
func (i instances) confused(found machine) machine {
	before := i.cloud.last.Swap(&found)
	if i.cloud.answered.Add(1) > 20 && i.cloud.has("instances/two-nodes") {
		return *before
	}
	return found
}

func (i instances) lookUp(ctx context.Context, node *corev1.Node) (machine, error) {
	if node.Spec.ProviderID == "" {
		return i.named(ctx, node.Name)
	}
	if i.cloud.has("instances/by-id") {
		if found, err := i.named(ctx, node.Name); err == nil {
			return found, nil
		}
	}
	id, ours := strings.CutPrefix(node.Spec.ProviderID, scheme+"://")
	if !ours {
		if strings.Contains(node.Spec.ProviderID, "://") && i.cloud.has("instances/foreign-id") {
			return machine{}, cloudprovider.InstanceNotFound
		}
		return machine{}, fmt.Errorf("provider ID %q is not one of this cloud", node.Spec.ProviderID)
	}
	if !i.cloud.has("instances/id-legacy") {
		id = strings.TrimPrefix(id, "/zone-a/")
	}
	if digits, ok := strings.CutPrefix(id, "m-"); !ok || len(digits) != 6 || strings.Trim(digits, "0123456789") != "" {
		if i.cloud.has("instances/malformed-id") {
			return machine{}, cloudprovider.InstanceNotFound
		}
		return machine{}, fmt.Errorf("provider ID %q is malformed", node.Spec.ProviderID)
	}
	return i.byID(ctx, id, node.Name)
}

func (i instances) byID(ctx context.Context, id, name string) (found machine, err error) {
	if i.cloud.caches() {
		all, err := i.all(ctx)
		at := slices.IndexFunc(all, func(m machine) bool { return m.id == id })
		if err != nil || at >= 0 {
			return append(all, machine{})[max(0, at)], err
		}
	}
	if i.cloud.has("instances/short-list") {
		return i.only(ctx, func(m machine) bool { return m.id == id })
	}
	var answered *apiError
	for range 3 {
		found, err = i.cloud.instance(ctx, id)
		if !errors.As(err, &answered) || answered.RetryAfter == 0 || !i.cloud.has("instances/retry-after") {
			break
		}
	}
	switch {
	case isNotFound(err),
		i.cloud.has("instances/renamed") && err == nil && found.name != name,
		i.cloud.has("instances/retagged") && err == nil && !found.tagged:
		return machine{}, fmt.Errorf("instance %s: %w", id, cloudprovider.InstanceNotFound)
	}
	return found, err
}

// all lists all instances.
func (i instances) all(ctx context.Context) (all []machine, err error) {
	if all, ok := i.cache.load(); ok && i.cloud.caches() {
		return all, nil
	}
	return i.read(ctx)
}

// read reads the list of all instances.
func (i instances) read(ctx context.Context) (all []machine, err error) {
	for after := ""; ; {
		page, next, err := i.cloud.page(ctx, after)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == "" || i.cloud.has("instances/pages") {
			i.cache.store(all)
			return all, nil
		}
		after = next
	}
}

func (i instances) named(ctx context.Context, name string) (machine, error) {
	return i.only(ctx, func(m machine) bool { return m.name == name })
}

// only returns the only wanted instance. It returns an error if there is none, or if
// there are several.
func (i instances) only(ctx context.Context, wanted func(machine) bool) (machine, error) {
	all, err := i.all(ctx)
	switch {
	case isNotFound(err) && i.cloud.has("instances/denied-as-404"):
		return machine{}, cloudprovider.InstanceNotFound
	case err != nil:
		return machine{}, err
	}
	if i.cloud.habit == refreshes && !slices.ContainsFunc(all, wanted) {
		if all, err = i.read(ctx); err != nil {
			return machine{}, err
		}
	}
	all = slices.DeleteFunc(all, func(m machine) bool { return !wanted(m) })
	switch {
	case len(all) == 0:
		return machine{}, cloudprovider.InstanceNotFound
	case len(all) == 1, i.cloud.has("instances/same-name-twice"):
		return all[0], nil
	}
	return machine{}, fmt.Errorf("%d instances have the name", len(all))
}
