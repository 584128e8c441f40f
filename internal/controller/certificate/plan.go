package certificate

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Plan returns the steps that the controller would take for a request. It writes
// nothing.
func (c *Controller) Plan(ctx context.Context, name string) ([]step.Step, error) {
	obj, exists, err := c.Informer.GetStore().GetByKey(name)
	if err != nil {
		return nil, fmt.Errorf("request %s in the cache: %w", name, err)
	}
	if !exists {
		c.forget(name)
		return nil, nil
	}
	_, p, err := c.judge(ctx, obj.(*certificatesv1.CertificateSigningRequest))
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []step.Step{p.step(name)}, nil
}

// step returns the part of the plan that a dry run shows.
func (p plan) step(request string) step.Step {
	s := step.Step{Object: "request/" + request, Effect: step.None, Do: string(p.do), Reason: p.cause.Reason, Why: p.why, After: p.after}
	switch p.do {
	case approve, deny:
		verdict := certificatesv1.CertificateApproved
		if p.do == deny {
			verdict = certificatesv1.CertificateDenied
		}
		s.Effect, s.Writes = step.Update, []string{step.Condition(verdict, "True", p.cause.Reason)}
	case wait:
		s.Effect = step.Wait
	case doNothing, ask, confirm:
	}
	for _, e := range p.events {
		s.Writes = append(s.Writes, "event "+e.event.Type+" "+e.event.Reason+" on node/"+e.node.Name)
	}
	return s
}
