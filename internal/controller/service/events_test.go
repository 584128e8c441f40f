package service

import (
	"errors"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The guide says of each reason and each event what it means.
func TestGuideHasAllReasons(t *testing.T) {
	text, err := os.ReadFile("../../../docs/guides/services.md")
	if err != nil {
		t.Fatal(err)
	}
	served := func(hosts int, ingress ...corev1.LoadBalancerIngress) observed {
		return observed{hosts: hosts, memory: memory{status: &corev1.LoadBalancerStatus{Ingress: ingress}}}
	}
	reasons := []string{
		ConditionServing, ConditionProvisioning, provisioned().Reason, refusalOfWork().reason, refusalOfSlowness().reason,
		notServing(refusal{}).Reason, serving(served(1)).Reason, serving(served(0, address...)).Reason, serving(served(1, address...)).Reason,
	}
	for _, r := range refusals {
		reasons = append(reasons, r.reason)
	}
	for _, e := range []event{
		ensuring(), ensured(), deleting(), deleted(), updated(), unavailable(), contested("", ""), queued(""),
		callFailed(failure{during: ensure}), callFailed(failure{during: update}), callFailed(failure{during: remove}),
	} {
		reasons = append(reasons, e.reason)
	}
	for _, reason := range reasons {
		if !strings.Contains(string(text), "`"+reason+"`") {
			t.Errorf("the guide does not have %s", reason)
		}
	}
	if known := refusalOf(errors.New("no"), "").reason; known != "CloudFailed" {
		t.Errorf("an unknown error has the reason %s", known)
	}
}
