package kube

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// refusal returns an answer of the API server whose status and message a policy
// or a webhook has chosen.
func refusal(code int32, reason metav1.StatusReason, message string, details *metav1.StatusDetails) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: details}}
}

func TestRefusedWrites(t *testing.T) {
	nodes := schema.GroupResource{Resource: "nodes"}
	kind := schema.GroupKind{Kind: "Node"}
	const (
		policy  = `nodes "n" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no labels here`
		webhook = `admission webhook "w.example.com" denied the request: no labels here`
	)
	ofPolicy := &metav1.StatusDetails{Name: "n", Kind: "nodes", Causes: []metav1.StatusCause{{Message: policy}}}
	for _, tt := range []struct {
		name            string
		err             error
		stale, rejected bool
	}{
		{"ConflictIsStale", apierrors.NewConflict(nodes, "n", nil), true, false},
		{"WrappedConflictIsStale", fmt.Errorf("patch: %w", apierrors.NewConflict(nodes, "n", nil)), true, false},
		{
			"AnotherUIDIsStale",
			fmt.Errorf("patch: %w", apierrors.NewInvalid(kind, "n", field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), "u", "field is immutable")})),
			true, false,
		},
		{"FailedTestOfAPatchIsStale", apierrors.NewGenericServerResponse(422, "", schema.GroupResource{}, "", "testing value /spec/taints failed: test failed", 0, false), true, false},
		{"InvalidLabelIsRejected", apierrors.NewInvalid(kind, "n", field.ErrorList{field.Invalid(field.NewPath("metadata", "labels"), "u", "bad")}), false, true},
		{"PolicyRejects", refusal(422, metav1.StatusReasonInvalid, policy, ofPolicy), false, true},
		{"PolicyRejectsWithAnotherCode", refusal(413, metav1.StatusReasonRequestEntityTooLarge, policy, ofPolicy), false, true},
		{"WebhookRejects", refusal(400, "", webhook, nil), false, true},
		{"WebhookRejectsWithoutAField", fmt.Errorf("patch: %w", refusal(422, metav1.StatusReasonInvalid, webhook, nil)), false, true},
		{"WebhookRejectsAsAConflict", refusal(409, metav1.StatusReasonConflict, webhook, nil), false, true},
		{"WebhookRejectsAsAFaultOfTheServer", refusal(500, metav1.StatusReasonInternalError, webhook, nil), false, true},
		{"ForbiddenIsRejected", apierrors.NewForbidden(nodes, "n", nil), false, true},
		{"UnauthorizedIsRejected", apierrors.NewUnauthorized("no"), false, true},
		{"NotFoundIsNeither", apierrors.NewNotFound(nodes, "n"), false, false},
		{"TooManyRequestsIsNeither", apierrors.NewTooManyRequests("later", 1), false, false},
		{"FaultOfTheServerIsNeither", apierrors.NewInternalError(errors.New("failed calling webhook")), false, false},
		{"BrokenConnectionIsNeither", errors.New("connection reset"), false, false},
		{"NilIsNeither", nil, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := IsStale(tt.err); got != tt.stale {
				t.Errorf("IsStale(%v) = %v, want %v", tt.err, got, tt.stale)
			}
			if got := IsRejected(tt.err); got != tt.rejected {
				t.Errorf("IsRejected(%v) = %v, want %v", tt.err, got, tt.rejected)
			}
		})
	}
}
