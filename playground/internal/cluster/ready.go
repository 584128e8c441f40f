package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

const (
	probePeriod  = 100 * time.Millisecond
	probeTimeout = 5 * time.Second
)

// await asks until ready says yes. When ctx ends first, the error tells why it ended and what the last answer was.
func await(ctx context.Context, what string, ready func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, probePeriod, true, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		if err := ready(ctx); err != nil {
			if last == nil || context.Cause(ctx) == nil { // a cut call says less than the one before it
				last = err
			}
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s (last answer: %w): %w", what, last, context.Cause(ctx))
	}
	return nil
}

// probe returns a maker of questions to server: each asks whether a path answers with 200.
func (c *Cluster) probe(server string, tls rest.TLSClientConfig) (func(path string) func(context.Context) error, error) {
	tls.CAFile = c.layout.pki("ca.crt")
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
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, resp.Status, body)
	}
	return err
}
