package provider

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	fairlead "github.com/fairlead-k8s/fairlead/provider"

	"github.com/fairlead-k8s/fairlead/examples/provider/cloud"
)

var _ fairlead.ErrorClassifier = (*Provider)(nil)

// ClassifyError implements Fairlead's optional interface provider.ErrorClassifier.
// With this method, the daemon slows down when the cloud's quota is used up, and the
// event of a Node that waits says what to do.
func (p *Provider) ClassifyError(err error) fairlead.Classification {
	var answered *cloud.Error
	var transport *url.Error
	switch {
	case errors.As(err, &answered) && answered.Code == "QuotaExceeded":
		return fairlead.Classification{Kind: fairlead.QuotaExceeded}
	case errors.As(err, &answered):
		return fairlead.Classification{Kind: kind(answered.Status), RetryAfter: answered.RetryAfter}
	case errors.Is(err, context.Canceled):
		return fairlead.Classification{} // the caller canceled the call, and the cloud has not failed
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
