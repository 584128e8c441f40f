package explain

import (
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
)

// heldRequest is the event on a Node that says why a request of its kubelet waits.
const heldRequest = "ServingCertificateHeld"

// request explains a CertificateSigningRequest. The reason why a request waits is in an
// event on the Node that has made the request.
func (all Reasons) request(s subject) Answer {
	r := s.of.(*certificatesv1.CertificateSigningRequest)
	left := requestfact.LeftAlone(r, s.now)
	s.events = slices.DeleteFunc(slices.Clone(s.events), func(e corev1.Event) bool {
		return e.Reason != heldRequest || left != "" // The events say why requests wait.
	})
	events := all.recorded("Node", s.events)
	for i := range events {
		events[i].cause.About = kindNode + "/" + requestfact.RequesterOf(r)
	}
	claims := all.decided(r)
	about := slices.IndexFunc(events, func(e event) bool { return requestfact.IsAbout(e.cause.Text, r.Name) })
	if about >= 0 {
		claims = []claim{{cause: events[about].cause, state: Waits, summary: "It waits to be approved."}}
	}
	a := s.answer(all, claims, events)
	switch {
	case left == "" && len(claims) == 0:
		a.State, a.Summary, a.Since = Unknown, "It waits to be approved. No daemon has said why"+unsaid(a, r), &r.CreationTimestamp.Time
	case left == "":
		a.Since = &r.CreationTimestamp.Time
	case len(claims) == 0:
		a.State, a.Summary = LeftAlone, fmt.Sprintf("The daemon leaves it alone: %s.", left)
		if verdict := verdictOn(r); verdict != nil && isServing(r) {
			a.Summary = fmt.Sprintf("It was decided, but not by this daemon: %s.", verdict.Type)
		}
	}
	return a
}

// unsaid returns the end of the summary of a request if no event says why the request
// waits.
func unsaid(a Answer, r *certificatesv1.CertificateSigningRequest) string {
	switch {
	case len(a.Reported) > 0:
		return " in an event about this request. While the reason stays the same, it is recorded only once an hour for all requests of a Node."
	case requestfact.RequesterOf(r) == "":
		return ": it was not made by a Node."
	default:
		return ". Its Node may not exist or may belong to another manager, or the controller " + mark.CertificateController + " is not running: it is off by default."
	}
}

// decided returns the claim that follows from the daemon's decision on the
// request. It returns none if the daemon has not decided.
func (all Reasons) decided(r *certificatesv1.CertificateSigningRequest) []claim {
	c := verdictOn(r)
	if c == nil || !isServing(r) {
		return nil
	}
	if _, ours := all.find("CertificateSigningRequest", string(c.Type), c.Reason); !ours { // Others may decide, too.
		return nil
	}
	shown := metav1.Condition{Type: string(c.Type), Status: metav1.ConditionTrue, Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime}
	is := claim{all.causeOf("CertificateSigningRequest", shown), Ready, "It is approved, and its certificate is signed."}
	switch {
	case c.Type == certificatesv1.CertificateDenied:
		is.state, is.summary = LeftAlone, "It is denied. Its kubelet makes another request."
	case slices.ContainsFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == certificatesv1.CertificateFailed
	}):
		is.state, is.summary = LeftAlone, "It is approved, but its signer has failed."
	case len(r.Status.Certificate) == 0:
		is.summary = "It is approved, but kube-controller-manager has not signed its certificate yet."
	}
	return []claim{is}
}

func isServing(r *certificatesv1.CertificateSigningRequest) bool {
	return r.Spec.SignerName == certificatesv1.KubeletServingSignerName
}

// verdictOn returns the condition with which somebody has approved or denied the
// request. It returns nil if the request is undecided.
func verdictOn(r *certificatesv1.CertificateSigningRequest) *certificatesv1.CertificateSigningRequestCondition {
	i := slices.IndexFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == certificatesv1.CertificateApproved || c.Type == certificatesv1.CertificateDenied
	})
	if i < 0 {
		return nil
	}
	return &r.Status.Conditions[i]
}
