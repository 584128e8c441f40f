package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/fairlead-k8s/fairlead/playground/internal/supervisor"
)

// Client controls the playground that uses a data folder.
type Client struct {
	dir  string
	http *http.Client
}

// NewClient returns a client for the playground that uses the data folder dir.
func NewClient(dir string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		path, release, err := shortPath(dir)
		if err != nil {
			return nil, err
		}
		defer release()
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return &Client{dir: dir, http: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// List returns the children.
func (c *Client) List(ctx context.Context) ([]supervisor.Status, error) {
	body, err := c.call(ctx, http.MethodGet, "/children")
	if err != nil {
		return nil, err
	}
	var list []supervisor.Status
	return list, json.Unmarshal(body, &list)
}

// Stop ends a child.
func (c *Client) Stop(ctx context.Context, name string, how Manner) error {
	return c.change(ctx, name, "stop", how)
}

// Start starts a stopped child with the same arguments as before.
func (c *Client) Start(ctx context.Context, name string) error {
	return c.change(ctx, name, "start", Politely)
}

// Restart stops a child and starts it again.
func (c *Client) Restart(ctx context.Context, name string, how Manner) error {
	return c.change(ctx, name, "restart", how)
}

// Manner says how a child is stopped.
type Manner string

const (
	// Politely means SIGTERM, and later SIGKILL if the child takes too long to end.
	Politely Manner = ""
	// AtOnce means SIGKILL.
	AtOnce Manner = "?kill"
)

func (c *Client) change(ctx context.Context, name, verb string, how Manner) error {
	_, err := c.call(ctx, http.MethodPost, "/children/"+url.PathEscape(name)+"/"+verb+string(how))
	return err
}

func (c *Client) call(ctx context.Context, method, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://playground"+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("no playground runs on %s", c.dir)
	case err != nil:
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = errors.New(strings.TrimSpace(string(body)))
	}
	return body, err
}
