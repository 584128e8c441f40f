package simulator

import (
	"context"
	"net/http"
	"net/url"
)

// Volumes lists all volumes, page by page.
func (c *Client) Volumes(ctx context.Context) ([]Volume, error) {
	return listAll[Volume](ctx, c, "/volumes", url.Values{})
}

// Volume returns one volume.
func (c *Client) Volume(ctx context.Context, id string) (Volume, error) {
	var v Volume
	err := c.do(ctx, http.MethodGet, c.volumePath(id), nil, &v)
	return v, err
}

// CreateVolume creates a volume. If v has no zones or no region, the cloud chooses
// them. ID must be empty.
func (c *Client) CreateVolume(ctx context.Context, v Volume) (Volume, error) {
	var created Volume
	err := c.do(ctx, http.MethodPost, c.path+"/volumes", v, &created)
	return created, err
}

// DeleteVolume deletes a volume.
func (c *Client) DeleteVolume(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, c.volumePath(id), nil, nil)
}

func (c *Client) volumePath(id string) string { return c.path + "/volumes/" + url.PathEscape(id) }
