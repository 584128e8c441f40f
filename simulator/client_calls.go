package simulator

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// Query selects the resources that have one of the IDs or one of the names, and all of
// the tags. Instances have no tags. The number of IDs and names together must not exceed
// the cloud's page size.
type Query struct {
	IDs   []string
	Names []string
	Tags  map[string]string
}

// values returns the query of the URL; nil if nothing is selected.
func (q Query) values() url.Values {
	if len(q.IDs)+len(q.Names)+len(q.Tags) == 0 {
		return nil
	}
	query := url.Values{}
	if len(q.IDs) > 0 {
		query.Set("ids", strings.Join(q.IDs, ","))
	}
	if len(q.Names) > 0 {
		query.Set("names", strings.Join(q.Names, ","))
	}
	for _, key := range slices.Sorted(maps.Keys(q.Tags)) {
		query.Add("tag", key+"="+q.Tags[key])
	}
	return query
}

// find lists the resources that the query selects. An empty query selects none.
func find[T any](ctx context.Context, c *Client, path string, q Query) ([]T, error) {
	query := q.values()
	if query == nil {
		return nil, nil
	}
	return listAll[T](ctx, c, path, query)
}

// Instances lists all instances, page by page.
func (c *Client) Instances(ctx context.Context) ([]Instance, error) {
	return listAll[Instance](ctx, c, "/instances", url.Values{})
}

// FindInstances lists the instances that the query selects. IDs and names that
// do not exist are skipped. If two instances have the same name, it returns both.
func (c *Client) FindInstances(ctx context.Context, q Query) ([]Instance, error) {
	return find[Instance](ctx, c, "/instances", q)
}

// InstancePage returns one page of the list of all instances. The token is empty for
// the first page. For each later page, it is the field Continue of the previous
// page.
func (c *Client) InstancePage(ctx context.Context, token string) (List[Instance], error) {
	query := url.Values{}
	if c.pageSize > 0 {
		query.Set("limit", strconv.Itoa(c.pageSize))
	}
	if token != "" {
		query.Set("continue", token)
	}
	return ask[List[Instance]](ctx, c, http.MethodGet, c.path+"/instances?"+query.Encode(), nil)
}

// WatchInstances returns the instances that have changed after a place in the
// cloud's log of changes. If no instance has changed yet, it waits for a change, but
// not longer than the given duration. If nothing changes in that time, the result
// names no instances. If the place is "", WatchInstances returns the present place
// at once. If the log no longer contains the place, IsExpired reports true for the
// error.
func (c *Client) WatchInstances(ctx context.Context, since string, wait time.Duration) (InstanceChanges, error) {
	query := url.Values{"since": {since}, "wait": {wait.String()}}
	return ask[InstanceChanges](ctx, c, http.MethodGet, c.path+"/instances/changes?"+query.Encode(), nil)
}

// Instance returns one instance.
func (c *Client) Instance(ctx context.Context, id string) (Instance, error) {
	return ask[Instance](ctx, c, http.MethodGet, c.one("/instances", id), nil)
}

// CreateInstance creates an instance. ID and State must be empty, because the cloud
// decides them. If Zone, Region or Type is empty, the cloud sets a default. If there
// are no addresses, the cloud assigns a free loopback address.
func (c *Client) CreateInstance(ctx context.Context, i Instance) (Instance, error) {
	return ask[Instance](ctx, c, http.MethodPost, c.path+"/instances", i)
}

// UpdateInstance changes an instance.
func (c *Client) UpdateInstance(ctx context.Context, id string, patch InstancePatch) (Instance, error) {
	return ask[Instance](ctx, c, http.MethodPatch, c.one("/instances", id), patch)
}

// StartInstance starts a stopped instance.
func (c *Client) StartInstance(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodPost, c.one("/instances", id)+"/start", nil, nil)
}

// StopInstance stops a running instance.
func (c *Client) StopInstance(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodPost, c.one("/instances", id)+"/stop", nil, nil)
}

// TerminateInstance terminates an instance. The instance cannot be started
// again.
func (c *Client) TerminateInstance(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, c.one("/instances", id), nil, nil)
}

// LoadBalancers lists all load balancers, page by page.
func (c *Client) LoadBalancers(ctx context.Context) ([]LoadBalancer, error) {
	return listAll[LoadBalancer](ctx, c, "/load-balancers", url.Values{})
}

// FindLoadBalancers lists the load balancers that the query selects.
func (c *Client) FindLoadBalancers(ctx context.Context, q Query) ([]LoadBalancer, error) {
	return find[LoadBalancer](ctx, c, "/load-balancers", q)
}

// LoadBalancer returns one load balancer.
func (c *Client) LoadBalancer(ctx context.Context, id string) (LoadBalancer, error) {
	return ask[LoadBalancer](ctx, c, http.MethodGet, c.one("/load-balancers", id), nil)
}

// CreateLoadBalancer creates a load balancer. ID, State and Address must be
// empty, because the cloud decides them.
func (c *Client) CreateLoadBalancer(ctx context.Context, l LoadBalancer) (LoadBalancer, error) {
	return ask[LoadBalancer](ctx, c, http.MethodPost, c.path+"/load-balancers", l)
}

// UpdateLoadBalancer changes a load balancer.
func (c *Client) UpdateLoadBalancer(ctx context.Context, id string, patch LoadBalancerPatch) (LoadBalancer, error) {
	return ask[LoadBalancer](ctx, c, http.MethodPatch, c.one("/load-balancers", id), patch)
}

// SetBackends gives several load balancers the same backends in one call. The number
// of names must not exceed MaxSharedBackends. The returned slice has an error or nil
// for each name, in the same order. If the whole call fails, the slice is nil.
func (c *Client) SetBackends(ctx context.Context, wanted SharedBackends) (each []error, err error) {
	answer, err := ask[wire.BackendOutcomes](ctx, c, http.MethodPost, c.path+"/load-balancers/backends", wanted)
	if err == nil && len(answer.Outcomes) != len(wanted.Names) {
		err = fmt.Errorf("the cloud answered %d outcomes for %d load balancers", len(answer.Outcomes), len(wanted.Names))
	}
	if err != nil {
		return nil, err
	}
	for _, o := range answer.Outcomes {
		each = append(each, outcomeError(o.Status, o.Error))
	}
	return each, nil
}

func outcomeError(status int, detail *wire.ErrorDetail) error {
	if detail == nil {
		return nil
	}
	return &APIError{StatusCode: status, Code: detail.Code, Message: detail.Message}
}

// DeleteLoadBalancer deletes a load balancer and cuts its connections. A
// static IP that it used is kept.
func (c *Client) DeleteLoadBalancer(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, c.one("/load-balancers", id), nil, nil)
}

// StaticIPs lists all static IPs, page by page.
func (c *Client) StaticIPs(ctx context.Context) ([]StaticIP, error) {
	return listAll[StaticIP](ctx, c, "/static-ips", url.Values{})
}

// StaticIP returns one static IP.
func (c *Client) StaticIP(ctx context.Context, id string) (StaticIP, error) {
	return ask[StaticIP](ctx, c, http.MethodGet, c.one("/static-ips", id), nil)
}

// CreateStaticIP reserves an address. If s has no address, the cloud chooses one.
// ID and LoadBalancer must be empty.
func (c *Client) CreateStaticIP(ctx context.Context, s StaticIP) (StaticIP, error) {
	return ask[StaticIP](ctx, c, http.MethodPost, c.path+"/static-ips", s)
}

// ReleaseStaticIP releases an address. It fails while a load balancer uses the
// address.
func (c *Client) ReleaseStaticIP(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, c.one("/static-ips", id), nil, nil)
}

// Routes lists all routes, page by page.
func (c *Client) Routes(ctx context.Context) ([]Route, error) {
	return listAll[Route](ctx, c, "/routes", url.Values{})
}

// FindRoutes lists the routes that the query selects.
func (c *Client) FindRoutes(ctx context.Context, q Query) ([]Route, error) {
	return find[Route](ctx, c, "/routes", q)
}

// Route returns one route.
func (c *Client) Route(ctx context.Context, id string) (Route, error) {
	return ask[Route](ctx, c, http.MethodGet, c.one("/routes", id), nil)
}

// CreateRoute creates a route. ID and Created must be empty, because the cloud decides
// them. State must be empty, too, but a route without a target may have the state
// RouteBlackhole. If the name belongs to another route, IsAlreadyExists reports true
// for the error.
func (c *Client) CreateRoute(ctx context.Context, r Route) (Route, error) {
	return ask[Route](ctx, c, http.MethodPost, c.path+"/routes", r)
}

// DeleteRoute deletes a route.
func (c *Client) DeleteRoute(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, c.one("/routes", id), nil, nil)
}

// ChangeRoutes creates and deletes routes in one call. The number of changes
// must not exceed MaxRouteChanges. The changes are made one after the other. A
// failed change does not stop the later ones. ChangeRoutes returns one outcome
// for each change, in the same order. If it returns an error, there are no
// outcomes.
func (c *Client) ChangeRoutes(ctx context.Context, changes []RouteChange) ([]RouteOutcome, error) {
	answer, err := ask[wire.RouteOutcomes](ctx, c, http.MethodPost, c.path+"/routes/changes", wire.RouteChanges{Changes: changes})
	if err == nil && len(answer.Outcomes) != len(changes) {
		err = fmt.Errorf("the cloud answered %d outcomes to %d changes", len(answer.Outcomes), len(changes))
	}
	if err != nil {
		return nil, err
	}
	outcomes := make([]RouteOutcome, len(changes))
	for n, o := range answer.Outcomes {
		outcomes[n].Err = outcomeError(o.Status, o.Error)
		if o.Route != nil {
			outcomes[n].Route = *o.Route
		}
	}
	return outcomes, nil
}

// Volumes lists all volumes, page by page.
func (c *Client) Volumes(ctx context.Context) ([]Volume, error) {
	return listAll[Volume](ctx, c, "/volumes", url.Values{})
}

// Volume returns one volume.
func (c *Client) Volume(ctx context.Context, id string) (Volume, error) {
	return ask[Volume](ctx, c, http.MethodGet, c.one("/volumes", id), nil)
}

// CreateVolume creates a volume. If v has no zones or no region, the cloud chooses
// them. ID must be empty.
func (c *Client) CreateVolume(ctx context.Context, v Volume) (Volume, error) {
	return ask[Volume](ctx, c, http.MethodPost, c.path+"/volumes", v)
}

// DeleteVolume deletes a volume.
func (c *Client) DeleteVolume(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, c.one("/volumes", id), nil, nil)
}

// The following methods always use the operator's API, even if the client has the role
// of a customer.

// Faults lists the faults that are set, by name.
func (c *Client) Faults(ctx context.Context) ([]Fault, error) {
	list, err := ask[wire.FaultList](ctx, c, http.MethodGet, wire.OperatorPath+"/faults", nil)
	return list.Items, err
}

// StandingFaults lists the permanent faults of the cloud, by name, such as its request
// quota.
func (c *Client) StandingFaults(ctx context.Context) ([]Fault, error) {
	list, err := ask[wire.FaultList](ctx, c, http.MethodGet, wire.OperatorPath+"/faults", nil)
	return list.Standing, err
}

// SetFault switches a fault on, or replaces the fault with the same name.
func (c *Client) SetFault(ctx context.Context, f Fault) error {
	return c.do(ctx, http.MethodPut, c.Operator().one("/faults", f.Name), f, nil)
}

// ClearFault switches a fault off.
func (c *Client) ClearFault(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, c.Operator().one("/faults", name), nil, nil)
}

// ClearFaults switches all faults off.
func (c *Client) ClearFaults(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, wire.OperatorPath+"/faults", nil, nil)
}

// Calls reports the calls that customers have made under /v1.
func (c *Client) Calls(ctx context.Context) (CallReport, error) {
	return ask[CallReport](ctx, c, http.MethodGet, wire.OperatorPath+"/calls", nil)
}

// ResetCalls clears the report of calls.
func (c *Client) ResetCalls(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, wire.OperatorPath+"/calls/reset", nil, nil)
}
