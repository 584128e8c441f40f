package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

const (
	// clusterTimeout bounds each request for the description of a cluster.
	clusterTimeout = 10 * time.Second
	// maxCluster bounds the size of a description in bytes. It is far above the size
	// of any real description.
	maxCluster = 8 << 20
)

// clusterAt returns a function that reads the description of a cluster from a URL.
// The page shows that description. Without a URL, clusterAt returns nil. It refuses
// the URL of another machine, because nothing would protect the data in transit.
func clusterAt(address string) (func(context.Context) (json.RawMessage, error), error) {
	if address == "" {
		return nil, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if at, err := netip.ParseAddrPort(u.Host); err != nil || u.Scheme != "http" || !at.Addr().IsLoopback() {
		return nil, fmt.Errorf("%q is not an HTTP URL with a loopback address and a port, such as http://127.0.0.1:7641/", address)
	}
	client := &http.Client{
		Timeout:   clusterTimeout,
		Transport: &http.Transport{}, // no proxy
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it refers to another URL")
		},
	}
	return func(ctx context.Context) (json.RawMessage, error) { return readCluster(ctx, client, u) }, nil
}

func readCluster(ctx context.Context, client *http.Client, at *url.URL) (json.RawMessage, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxCluster))
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	switch {
	case answer.StatusCode != http.StatusOK:
		return nil, errors.New(strings.TrimSpace(string(body)))
	case !describesCluster(body):
		return nil, fmt.Errorf("what answers at %s does not describe a cluster", at)
	}
	return body, nil
}

// describesCluster reports whether an answer has the lists that the page shows.
func describesCluster(body []byte) bool {
	var cluster struct {
		Held, Nodes, Services, Events []json.RawMessage
	}
	err := json.Unmarshal(body, &cluster)
	return err == nil && cluster.Held != nil && cluster.Nodes != nil && cluster.Services != nil && cluster.Events != nil
}
