package certificate

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// The values of the metric's label "verdict".
const (
	verdictApproved = "approved"
	verdictDenied   = "denied"
	verdictHeld     = "held"
)

// apply carries out the plan. It writes the decision, then records the events, then
// updates the memory.
func (c *Controller) apply(ctx context.Context, o observed, p plan) (loop.Result, error) {
	logger := klog.FromContext(ctx).WithValues("request", o.request.Name, "user", o.request.Spec.Username)
	switch p.do {
	case approve, deny:
		if err := c.decide(ctx, o, p); err != nil {
			return loop.Result{}, err
		}
	case wait:
		if o.memory.uid != o.request.UID || o.memory.reason != p.cause.Reason {
			say := func() { logger.Info("Request for a serving certificate waits", "reason", p.cause.Reason, "why", p.why) }
			if len(p.events) > 0 { // There are few events about a Node.
				say()
			} else {
				c.few.Do(say)
			}
			c.metrics.requests.WithLabelValues(verdictHeld, p.cause.Reason).Inc()
		}
	case doNothing, ask, confirm:
		logger.V(4).Info("Left the request as it is", "why", p.why)
	}
	for _, e := range p.events {
		c.events.Node(e.node, e.event.Type, e.event.Reason, e.event.Message)
	}
	c.remember(o, p)
	return loop.Result{Retry: p.soon, After: p.after}, nil
}

// decide approves or denies the version of the request that was read from the API
// server. If the request has changed since, decide returns an error, and another pass
// follows.
func (c *Controller) decide(ctx context.Context, o observed, p plan) error {
	verdict, counted := certificatesv1.CertificateApproved, verdictApproved
	if p.do == deny {
		verdict, counted = certificatesv1.CertificateDenied, verdictDenied
	} else {
		c.useApproval(o.now) // The approval counts even if the reply is lost.
	}
	err := c.requests.Decide(ctx, kube.Decision{Request: o.request, Verdict: verdict, Reason: p.cause.Reason, Message: p.cause.Message})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Decided on a request for a serving certificate",
		"verdict", counted, "request", o.request.Name, "user", o.request.Spec.Username, "reason", p.cause.Reason, "why", p.why)
	c.metrics.requests.WithLabelValues(counted, p.cause.Reason).Inc()
	return nil
}
