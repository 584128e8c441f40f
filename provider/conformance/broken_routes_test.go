package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	cloudprovider "k8s.io/cloud-provider"
)

// brokenMaxRoutes is the largest number of routes in the cloud.
const brokenMaxRoutes = 210

// entry is a route of the cloud.
type entry struct {
	cloudprovider.Route

	cluster string // empty if the route was made by hand
	machine string // the ID of its target
}

// createRoute is the API's call to create a route to the machine whose name is
// TargetNode. It returns an error if there is already a route to this destination.
func (c *brokenCloud) createRoute(ctx context.Context, wanted entry) error {
	_, err := c.call(ctx, write, func() error {
		if slices.ContainsFunc(c.routes, func(r entry) bool { return r.DestinationCIDR == wanted.DestinationCIDR }) {
			return errTaken
		}
		if len(c.routes) >= brokenMaxRoutes {
			return errQuota
		}
		at := slices.IndexFunc(c.machines, func(m *machine) bool { return m.name == string(wanted.TargetNode) })
		if at < 0 {
			return &apiError{StatusCode: http.StatusNotFound}
		}
		c.created++
		wanted.Name, wanted.machine = fmt.Sprintf("r-%06d", c.created), c.machines[at].id
		c.routes = append(c.routes, wanted)
		return nil
	})
	return err
}

// routes implements cloudprovider.Routes.
type routes struct {
	cloud   *brokenCloud
	targets *cache
}

func (r *routes) has(flaw string) bool { return r.cloud.has("routes/" + flaw) }

func (r *routes) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	found, err := listed(ctx, r.cloud, &r.cloud.routes, func(e entry) bool {
		return e.cluster == cluster || r.has("two-clusters") && e.cluster != ""
	})
	if err != nil {
		return nil, err
	}
	machines, err := r.machines(ctx)
	if err != nil {
		return nil, err
	}
	var all []*cloudprovider.Route
	for _, e := range found {
		listed := e.Route
		listed.Blackhole = r.isGone(e.machine) || r.has("live-is-no-blackhole") && !machines[e.machine] || r.isUnknown(e.machine)
		if r.has("round-trip") {
			listed.TargetNode = ""
		}
		all = append(all, &listed)
	}
	return all, nil
}

// machines lists the machines of the cloud and returns their IDs. A list may be wrong, so
// a real provider asks the cloud about each missing machine. This provider calls isGone
// instead, which reads the cloud's memory.
func (r *routes) machines(ctx context.Context) (map[string]bool, error) {
	all, err := (instances{cloud: r.cloud, cache: &cache{}}).all(ctx)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, m := range all {
		ids[m.id] = true
	}
	return ids, nil
}

// isUnknown reports whether the provider has the flaw knows-one, and has created routes, but
// none to the machine.
func (r *routes) isUnknown(id string) bool {
	known, _ := r.targets.load()
	return len(known) > 0 && !slices.ContainsFunc(known, func(m machine) bool { return m.id == id })
}

func (r *routes) isGone(id string) bool {
	r.cloud.mu.Lock()
	defer r.cloud.mu.Unlock()
	return r.cloud.machine(id) == nil
}

func (r *routes) CreateRoute(ctx context.Context, cluster, _ string, route *cloudprovider.Route) error {
	if strings.Contains(route.DestinationCIDR, ":") {
		if r.has("ipv6") {
			return nil
		}
		return invalidf("destination %s: there is no IPv6", route.DestinationCIDR)
	}
	if r.has("two-hundred-at-once") && strings.HasPrefix(route.DestinationCIDR, "10.200.") && r.creation() > 150 {
		return nil
	}
	if r.cloud.habit == addressed && len(route.TargetNodeAddresses) == 0 {
		return invalidf("node %s has no address", route.TargetNode)
	}
	if r.has("knows-one") {
		known, _ := r.targets.load()
		found, _ := (instances{cloud: r.cloud, cache: &cache{}}).named(ctx, string(route.TargetNode))
		r.targets.store(append(known, found))
	}
	wanted := entry{Route: *route, cluster: cluster}
	err := r.cloud.createRoute(ctx, wanted)
	switch {
	case errors.Is(err, errQuota) && r.has("quota"):
		return nil
	case errors.Is(err, errTaken) && !r.has("create-again"):
		return r.same(ctx, wanted)
	case isNotFound(err):
		return fmt.Errorf("instance named %s: %w", route.TargetNode, cloudprovider.InstanceNotFound)
	case errors.Is(err, errTaken):
		return invalidf("there is a route for %s", route.DestinationCIDR)
	}
	return err
}

// creation counts a call of CreateRoute and returns its number.
func (r *routes) creation() int {
	r.cloud.mu.Lock()
	defer r.cloud.mu.Unlock()
	r.cloud.creations++
	return r.cloud.creations
}

// same returns an error if the route for the destination is not the wanted one.
func (r *routes) same(ctx context.Context, wanted entry) error {
	found, err := listed(ctx, r.cloud, &r.cloud.routes, func(e entry) bool { return e.DestinationCIDR == wanted.DestinationCIDR })
	if err == nil && len(found) == 1 && found[0].TargetNode == wanted.TargetNode && found[0].cluster == wanted.cluster {
		return nil
	}
	return errors.Join(err, invalidf("the route for %s is another one", wanted.DestinationCIDR))
}

func (r *routes) DeleteRoute(ctx context.Context, cluster string, route *cloudprovider.Route) error {
	if r.has("gone-target") && route.Blackhole {
		return fmt.Errorf("target of the route: %w", cloudprovider.InstanceNotFound)
	}
	also := func(e entry) bool {
		switch node, other := string(route.TargetNode), string(e.TargetNode); {
		case r.has("two-cidrs"):
			return e.cluster == cluster && other == node
		case r.has("name-prefix"):
			return e.cluster == cluster && other != node && strings.HasPrefix(other, node)
		case r.has("not-mine"):
			return e.cluster == ""
		}
		return false
	}
	found, err := listed(ctx, r.cloud, &r.cloud.routes, func(e entry) bool { return e.Name == route.Name || also(e) })
	if err != nil {
		return err
	}
	if len(found) == 0 && r.has("delete-none") {
		return errors.New("route not found")
	}
	for _, e := range found {
		if err := removed(ctx, r.cloud, &r.cloud.routes, func(other entry) bool { return other.Name == e.Name }); err != nil && !isNotFound(err) {
			return err
		}
	}
	return nil
}
