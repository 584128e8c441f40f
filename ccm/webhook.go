package ccm

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
)

// Webhook is an admission webhook that a program adds.
type Webhook struct {
	// Name in --webhooks and in metrics.
	Name string
	// Path under which the API server finds it, as in /validate-acme.
	Path string
	// Admit answers a request. Fairlead fills in the UID of the answer. If Admit
	// returns an error or no answer, the webhook's failurePolicy decides. The
	// context ends when the API server gives up.
	Admit func(ctx context.Context, r *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error)
}
