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
	// clusterTimeout is how long the program that describes a cluster may take.
	clusterTimeout = 10 * time.Second
	// maxCluster bounds the bytes of a description. It is far above the size of any
	// real one.
	maxCluster = 8 << 20
)

// clusterAt returns a function that gets from a URL what the page shows of a
// cluster. Without a URL it returns nil. It refuses URLs of other machines, because
// nothing would protect the data on its way.
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
