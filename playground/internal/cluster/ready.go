package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// probe returns a function that turns a path of the server into a check. The check
// succeeds if the server answers a GET of the path with 200. The server's certificate
// must be signed by the authority in tls or, if tls has none, by the cluster's
// authority.
func (c *Cluster) probe(server string, tls rest.TLSClientConfig) (func(path string) func(context.Context) error, error) {
	tls.CAFile = cmp.Or(tls.CAFile, c.layout.pki("ca.crt"))
	client, err := rest.HTTPClientFor(&rest.Config{Host: server, TLSClientConfig: tls})
	if err != nil {
		return nil, err
	}
	return func(path string) func(context.Context) error {
		return func(ctx context.Context) error { return get(ctx, client, server+path) }
	}, nil
}

func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, resp.Status, body)
	}
	return err
}
