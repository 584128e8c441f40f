package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/fairlead-k8s/fairlead/provider/kit"
)

// maxAnswer is the maximum size of an answer in bytes. It is far above the size
// of any real answer.
const maxAnswer = 16 << 20

// HTTP is the API of the simulated cloud.
type HTTP struct {
	endpoint string
	client   *http.Client
}

var _ API = (*HTTP)(nil)

// NewHTTP returns a client of the cloud at a URL such as http://127.0.0.1:7640.
func NewHTTP(endpoint string) *HTTP {
	// The client has no timeout: each call has the deadline of its caller.
	return &HTTP{endpoint: endpoint, client: &http.Client{}}
}

// Instance implements API.
func (h *HTTP) Instance(ctx context.Context, id string) (Instance, error) {
	var found Instance
	err := h.get(ctx, "/v1/instances/"+url.PathEscape(id), &found)
	return found, err // The kit adds the name of what was asked.
}

// InstancesNamed implements API.
func (h *HTTP) InstancesNamed(ctx context.Context, name string) ([]Instance, error) {
	return list[Instance](ctx, h, "/v1/instances", url.Values{"names": {name}})
}

// list returns all resources that the query selects, page by page.
func list[T any](ctx context.Context, h *HTTP, path string, query url.Values) ([]T, error) {
	return kit.AllPages(ctx, func(ctx context.Context, token string) ([]T, string, error) {
		if token != "" {
			query.Set("continue", token)
		}
		var page struct {
			Items    []T    `json:"items"`
			Continue string `json:"continue"`
		}
		err := h.get(ctx, path+"?"+query.Encode(), &page)
		if err == nil && page.Items == nil {
			err = errors.New("the answer is not a list")
		}
		return page.Items, page.Continue, err
	})
}

// get sends a GET request and reads the answer into out.
func (h *HTTP) get(ctx context.Context, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.endpoint+path, nil)
	if err != nil {
		return err
	}
	return h.do(req, out)
}

// do sends a request. If out is not nil, it reads the answer into out.
func (h *HTTP) do(req *http.Request, out any) error {
	resp, err := h.client.Do(req)
	if err != nil {
		return err // err names the URL
	}
	defer func() { _ = resp.Body.Close() }() // the body has been read
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return fmt.Errorf("reading the answer: %w", err)
	case out == nil && resp.StatusCode == http.StatusNoContent:
		return nil
	case resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated:
		return answered(resp, body)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("the answer is not the cloud's: %w", err)
	}
	return nil
}

// answered returns the error that an answer reports. Only the cloud's own 404 means
// that a resource does not exist. This 404 has the code NotFound, unlike the 404 of
// a proxy.
func answered(resp *http.Response, body []byte) error {
	var text struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &text); err != nil {
		text.Error.Message = resp.Request.URL.Host + " does not answer as the cloud does"
	}
	e := &Error{Status: resp.StatusCode, Code: text.Error.Code, Message: text.Error.Message}
	if e.Status == http.StatusNotFound && e.Code == "NotFound" {
		return fmt.Errorf("%w: %w", ErrNotFound, e)
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}
