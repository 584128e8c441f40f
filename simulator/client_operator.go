package simulator

import (
	"context"
	"net/http"
	"net/url"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// The methods in this file always use the operator's API, even if the client
// has the role of a customer.

// Faults lists the faults that are set, by name.
func (c *Client) Faults(ctx context.Context) ([]Fault, error) {
	var list wire.FaultList
	err := c.do(ctx, http.MethodGet, wire.OperatorPath+"/faults", nil, &list)
	return list.Items, err
}

// StandingFaults lists the permanent faults of the cloud, by name, such as its request
// quota.
func (c *Client) StandingFaults(ctx context.Context) ([]Fault, error) {
	var list wire.FaultList
	err := c.do(ctx, http.MethodGet, wire.OperatorPath+"/faults", nil, &list)
	return list.Standing, err
}

// SetFault switches a fault on, or replaces the fault with the same name.
func (c *Client) SetFault(ctx context.Context, f Fault) error {
	return c.do(ctx, http.MethodPut, faultPath(f.Name), f, nil)
}

// ClearFault switches a fault off.
func (c *Client) ClearFault(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, faultPath(name), nil, nil)
}

// ClearFaults switches all faults off.
func (c *Client) ClearFaults(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, wire.OperatorPath+"/faults", nil, nil)
}

// Calls reports the calls that customers have made under /v1.
func (c *Client) Calls(ctx context.Context) (CallReport, error) {
	var report CallReport
	err := c.do(ctx, http.MethodGet, wire.OperatorPath+"/calls", nil, &report)
	return report, err
}

// ResetCalls clears the report of calls.
func (c *Client) ResetCalls(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, wire.OperatorPath+"/calls/reset", nil, nil)
}

func faultPath(name string) string { return wire.OperatorPath + "/faults/" + url.PathEscape(name) }
