package kube

import (
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestRequestsTakeLittleMemory covers a request that its author has made very
// large.
func TestRequestsTakeLittleMemory(t *testing.T) {
	whole := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "u", Annotations: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{}}, OwnerReferences: make([]metav1.OwnerReference, 1000), Finalizers: make([]string, 1000)},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Request: make([]byte, 1<<20), Username: "system:node:a", Extra: map[string]certificatesv1.ExtraValue{"a": {"b"}}},
		Status:     certificatesv1.CertificateSigningRequestStatus{Certificate: make([]byte, 1<<20)},
	}
	trimmed, err := trimRequest(whole)
	if err != nil {
		t.Fatal(err)
	}
	r := trimmed.(*certificatesv1.CertificateSigningRequest)
	if len(r.Spec.Request) != 0 || len(r.Status.Certificate) != 1 || r.Annotations != nil || r.ManagedFields != nil || r.OwnerReferences != nil || r.Finalizers != nil || r.Spec.Extra != nil {
		t.Errorf("%d bytes of the request, %d of the certificate, %v", len(r.Spec.Request), len(r.Status.Certificate), r.ObjectMeta)
	}
	if r.Name != "r" || r.UID != "u" || r.Spec.Username != "system:node:a" || len(whole.Spec.Request) != 1<<20 {
		t.Errorf("%v is lost, or the object has changed", r.ObjectMeta)
	}
	for name, tt := range map[string]struct {
		bytes      int
		conditions []certificatesv1.CertificateSigningRequestCondition
		want       int
	}{
		"Kubelets":  {MaxRequestBytes, nil, MaxRequestBytes},
		"TooLong":   {MaxRequestBytes + 1, nil, 0},
		"IsDecided": {MaxRequestBytes, make([]certificatesv1.CertificateSigningRequestCondition, 1), 0},
	} {
		whole := &certificatesv1.CertificateSigningRequest{
			Spec:   certificatesv1.CertificateSigningRequestSpec{Request: make([]byte, tt.bytes)},
			Status: certificatesv1.CertificateSigningRequestStatus{Conditions: tt.conditions},
		}
		trimmed, err := trimRequest(whole)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(trimmed.(*certificatesv1.CertificateSigningRequest).Spec.Request); got != tt.want {
			t.Errorf("%s: %d bytes are kept, want %d", name, got, tt.want)
		}
	}
	if other, err := trimRequest("x"); err != nil || other != "x" {
		t.Errorf("%v, %v of another kind", other, err)
	}
}

func TestDecisionIsAdded(t *testing.T) {
	r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "r"}}
	cluster := fake.NewClientset(r)
	requests := NewRequests(cluster, certificatesv1.KubeletServingSignerName, 0)
	if err := requests.Decide(t.Context(), Decision{Request: r, Verdict: certificatesv1.CertificateApproved, Reason: "Because", Message: "it is"}); err != nil {
		t.Fatal(err)
	}
	got, err := requests.Live(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	want := certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Because", Message: "it is"}
	if len(got.Status.Conditions) != 1 || got.Status.Conditions[0] != want || len(r.Status.Conditions) != 0 {
		t.Errorf("conditions %v, want %v; those of the argument %v", got.Status.Conditions, want, r.Status.Conditions)
	}
	if _, err := requests.Live(t.Context(), "gone"); err == nil {
		t.Error("a request that does not exist was read")
	}
}
