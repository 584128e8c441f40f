// Command testccm is a daemon as a vendor would build it, with package ccm, one
// provider and one webhook. The provider is for the end-to-end tests: it fails on purpose.
package main

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fairlead-k8s/fairlead/ccm"
)

func main() {
	ccm.MainWith(ccm.Options{Webhooks: []ccm.Webhook{{
		Name: "test", Path: "/test",
		Admit: func(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			return &admissionv1.AdmissionResponse{Allowed: true}, nil
		},
	}}})
}
