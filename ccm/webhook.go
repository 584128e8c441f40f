package ccm

import "github.com/fairlead-k8s/fairlead/internal/app"

// Webhook is an admission webhook that a program adds.
//
//	type Webhook struct {
//		// Name in --webhooks and in metrics.
//		Name string
//		// Path under which the API server finds it, as in /validate-acme.
//		Path string
//		// Admit answers a request. Fairlead fills in the UID of the answer. If Admit
//		// returns an error or no answer, the webhook's failurePolicy decides. The
//		// context ends when the API server gives up.
//		Admit func(ctx context.Context, r *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error)
//	}
type Webhook = app.Webhook
