package simulator

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// InstanceQuery selects the instances that have one of the IDs or one of the names.
// The number of IDs and names together must not exceed the cloud's page size.
type InstanceQuery struct {
	IDs   []string
	Names []string
}

// Instances lists all instances, page by page.
func (c *Client) Instances(ctx context.Context) ([]Instance, error) {
	return c.listInstances(ctx, url.Values{})
}

// FindInstances lists the instances that the query selects. IDs and names that
// do not exist are skipped. If two instances have the same name, it returns both.
func (c *Client) FindInstances(ctx context.Context, q InstanceQuery) ([]Instance, error) {
	query := selection(q.IDs, q.Names, nil)
	if query == nil {
		return nil, nil
	}
	return c.listInstances(ctx, query)
}

func (c *Client) listInstances(ctx context.Context, query url.Values) ([]Instance, error) {
	return listAll[Instance](ctx, c, "/instances", query)
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
	var page List[Instance]
	err := c.do(ctx, http.MethodGet, c.path+"/instances?"+query.Encode(), nil, &page)
	return page, err
}

// WatchInstances returns the instances that have changed after a place in the
// cloud's log of changes. If no instance has changed yet, it waits for a change, but
// not longer than the given duration. If nothing changes in that time, the result
// names no instances. If the place is "", WatchInstances returns the present place
// at once. If the log no longer contains the place, IsExpired reports true for the
// error.
func (c *Client) WatchInstances(ctx context.Context, since string, wait time.Duration) (InstanceChanges, error) {
	query := url.Values{"since": {since}, "wait": {wait.String()}}
	var changes InstanceChanges
	err := c.do(ctx, http.MethodGet, c.path+"/instances/changes?"+query.Encode(), nil, &changes)
	return changes, err
}

// Instance returns one instance.
func (c *Client) Instance(ctx context.Context, id string) (Instance, error) {
	var i Instance
	err := c.do(ctx, http.MethodGet, c.instancePath(id), nil, &i)
	return i, err
}

// CreateInstance creates an instance. ID and State must be empty, because the cloud
// decides them. If Zone, Region or Type is empty, the cloud sets a default. If there
// are no addresses, the cloud assigns a free loopback address.
func (c *Client) CreateInstance(ctx context.Context, i Instance) (Instance, error) {
	var created Instance
	err := c.do(ctx, http.MethodPost, c.path+"/instances", i, &created)
	return created, err
}

// UpdateInstance changes an instance.
func (c *Client) UpdateInstance(ctx context.Context, id string, patch InstancePatch) (Instance, error) {
	var updated Instance
	err := c.do(ctx, http.MethodPatch, c.instancePath(id), patch, &updated)
	return updated, err
}

// StartInstance starts a stopped instance.
func (c *Client) StartInstance(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodPost, c.instancePath(id)+"/start", nil, nil)
}

// StopInstance stops a running instance.
func (c *Client) StopInstance(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodPost, c.instancePath(id)+"/stop", nil, nil)
}

// TerminateInstance terminates an instance. The instance cannot be started
// again.
func (c *Client) TerminateInstance(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, c.instancePath(id), nil, nil)
}

func (c *Client) instancePath(id string) string {
	return c.path + "/instances/" + url.PathEscape(id)
}
