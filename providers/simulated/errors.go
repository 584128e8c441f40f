package simulated

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/provider/kit"
	"github.com/fairlead-k8s/fairlead/simulator"
)

var _ provider.ErrorClassifier = (*Cloud)(nil)

// ClassifyError implements provider.ErrorClassifier.
func (c *Cloud) ClassifyError(err error) provider.Classification {
	var refused *kit.InvalidError
	var answered *simulator.APIError
	var transport *url.Error
	switch {
	case errors.As(err, &refused):
		return provider.Classification{Kind: provider.Invalid}
	case errors.As(err, &answered):
		if answered.Code == simulator.CodeQuotaExceeded {
			return provider.Classification{Kind: provider.QuotaExceeded}
		}
		return provider.Classification{Kind: kindOf(answered.StatusCode), RetryAfter: answered.RetryAfter}
	case errors.Is(err, context.Canceled):
		return provider.Classification{} // the caller canceled the call, so the cloud may be healthy
	case errors.As(err, &transport), errors.Is(err, context.DeadlineExceeded):
		return provider.Classification{Kind: provider.Unavailable}
	}
	return provider.Classification{}
}

func kindOf(status int) provider.ErrorKind {
	switch {
	case status == http.StatusTooManyRequests:
		return provider.Throttled
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return provider.Denied
	case status == http.StatusBadRequest, status == http.StatusConflict:
		return provider.Invalid
	case status >= http.StatusInternalServerError:
		return provider.Unavailable
	}
	return provider.Unclassified
}
