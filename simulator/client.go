package simulator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// maxAnswer is the maximum size of an answer in bytes. An answer is kept in memory,
// with a multiple of its size while it is read. A page of 100 load balancers with
// 5,000 backends each has 7.5 MB.
const maxAnswer = 8 << 20

// Client is a client of a simulated cloud. Each method makes one request. Only the
// methods that list all pages make one request for each page. A Client never retries.
// If the answer has an error status, the error is an *APIError. If there is no
// answer, or if the answer cannot be read, the error is a *url.Error. A Client is
// safe for concurrent use.
type Client struct {
	base     string
	path     string
	pageSize int
	http     *http.Client
}

// NewClient returns a client of the cloud at baseURL, such as
// "http://127.0.0.1:8080", in the role of a customer.
func NewClient(baseURL string) *Client {
	const concurrency = 100
	return &Client{
		base: strings.TrimRight(baseURL, "/"),
		path: wire.CustomerPath,
		http: &http.Client{
			Transport: &http.Transport{
				DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
				MaxIdleConns:        concurrency,
				MaxIdleConnsPerHost: concurrency,
				// The client must close an idle connection before the server
				// does. Otherwise a request could be sent on a connection that
				// the server is closing.
				IdleConnTimeout: serverIdleTimeout / 2,
			},
			// A simulated cloud never redirects, so a redirect is reported as an error.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Operator returns a client of the same cloud in the role of its operator.
// Faults and quotas do not apply to its calls, and its calls are not counted.
func (c *Client) Operator() *Client {
	o := *c
	o.path = wire.OperatorPath
	return &o
}

// WithPageSize returns a client that asks for pages of n items; 0 leaves the
// size to the cloud.
func (c *Client) WithPageSize(n int) *Client {
	p := *c
	p.pageSize = n
	return &p
}

// CloseIdleConnections closes the connections that no call uses.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// do makes one request and waits for the answer. The parameter in is sent as JSON, and
// the answer is decoded into the parameter out. Either may be nil.
func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	req, err := c.request(ctx, method, path, in)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err // *url.Error names the method and the URL
	}
	defer func() { _ = resp.Body.Close() }() // an error does not matter: the body has been read
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return &url.Error{Op: method, URL: req.URL.Redacted(), Err: fmt.Errorf("reading the answer: %w", err)}
	}
	if len(body) > maxAnswer {
		return &url.Error{Op: method, URL: req.URL.Redacted(), Err: fmt.Errorf("the answer is longer than %d bytes", maxAnswer)}
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return answeredError(resp, body)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		err = fmt.Errorf("the answer is not that of a simulated cloud: %w", err)
		return &url.Error{Op: method, URL: req.URL.Redacted(), Err: err}
	}
	return nil
}

func (c *Client) request(ctx context.Context, method, path string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(encoded)
	}
	if method == http.MethodGet {
		// When a kept-alive connection breaks, net/http silently repeats a GET if it
		// can rewind the body. It cannot rewind this body, so one method call is
		// always one call to the cloud.
		body = struct{ io.Reader }{http.NoBody}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		// The error is not wrapped, because it quotes the URL, which may contain a password.
		return nil, &url.Error{Op: method, URL: path, Err: errors.New("the URL of the cloud cannot be parsed")}
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// answeredError returns the error in the cloud's answer.
func answeredError(resp *http.Response, body []byte) error {
	e := &APIError{StatusCode: resp.StatusCode}
	var answered wire.ErrorBody
	if json.Unmarshal(body, &answered) == nil && answered.Error.Code != "" {
		e.Code, e.Message = answered.Error.Code, answered.Error.Message
	} else {
		e.Message = resp.Request.URL.Host + " does not answer as a simulated cloud does"
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// ask makes one request and returns the answer.
func ask[T any](ctx context.Context, c *Client, method, path string, in any) (answer T, err error) {
	err = c.do(ctx, method, path, in, &answer)
	return answer, err
}

// one returns the path of one resource.
func (c *Client) one(path, id string) string { return c.path + path + "/" + url.PathEscape(id) }

// listAll requests all pages of a list.
func listAll[T any](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	if c.pageSize > 0 {
		query.Set("limit", strconv.Itoa(c.pageSize))
	}
	var all []T
	for {
		full := c.path + path
		if len(query) > 0 {
			full += "?" + query.Encode()
		}
		page, err := ask[List[T]](ctx, c, http.MethodGet, full, nil)
		if err != nil {
			return nil, err // the earlier pages are dropped, because an incomplete list must not look complete
		}
		all = append(all, page.Items...)
		if page.Continue == "" {
			return all, nil
		}
		if page.Continue == query.Get("continue") {
			return nil, errors.New("the cloud returns the same page again and again")
		}
		query.Set("continue", page.Continue)
	}
}
