package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	fairlead "github.com/fairlead-k8s/fairlead/provider"

	"github.com/fairlead-k8s/fairlead/examples/provider/cloud"
)

var _ fairlead.ErrorClassifier = (*Provider)(nil)

// ClassifyError implements Fairlead's optional interface provider.ErrorClassifier.
// With it the daemon slows down when the cloud's quota is used up, and a Node that
// waits says what its owner has to do.
func (p *Provider) ClassifyError(err error) fairlead.Classification {
	var answered *cloud.Error
	var refused *invalidError
	var transport *url.Error
	switch {
	case errors.As(err, &answered):
		return fairlead.Classification{Kind: kind(answered.Status), RetryAfter: answered.RetryAfter}
	case errors.As(err, &refused):
		return fairlead.Classification{Kind: fairlead.Invalid}
	case errors.Is(err, context.Canceled):
		return fairlead.Classification{} // the caller's wish, and no fault of the cloud
	case errors.As(err, &transport), errors.Is(err, context.DeadlineExceeded):
		return fairlead.Classification{Kind: fairlead.Unavailable}
	}
	return fairlead.Classification{}
}

func kind(status int) fairlead.ErrorKind {
	switch {
	case status == http.StatusTooManyRequests:
		return fairlead.Throttled
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fairlead.Denied
	case status == http.StatusBadRequest, status == http.StatusConflict:
		return fairlead.Invalid
	case status >= http.StatusInternalServerError:
		return fairlead.Unavailable
	}
	return fairlead.Unclassified
}

// invalidError is a permanent error: a retry fails until somebody changes the input.
type invalidError struct{ text string }

func (e *invalidError) Error() string { return e.text }

func invalidf(format string, args ...any) error {
	return &invalidError{text: fmt.Sprintf(format, args...)}
}
