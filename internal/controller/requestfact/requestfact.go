// Package requestfact answers questions about a kubelet's certificate request, from the
// request alone.
package requestfact

import (
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

const (
	// LongestPending is the age from which a request is left alone. No kubelet waits that
	// long, because a kubelet makes a new request after 15 minutes.
	LongestPending = time.Hour

	// NodePrefix is the prefix of the user of a kubelet.
	NodePrefix = "system:node:"
	// NodeGroup is the group of the kubelets.
	NodeGroup = "system:nodes"
)

// LeftAlone returns the reason for which the controller does not decide on a
// request, or an empty string if it decides.
func LeftAlone(r *certificatesv1.CertificateSigningRequest, now time.Time) (why string) {
	switch {
	case r.Spec.SignerName != certificatesv1.KubeletServingSignerName:
		return "the request is for another signer"
	case IsDecided(r):
		return "the request is decided"
	case now.Sub(r.CreationTimestamp.Time) >= LongestPending:
		return "the request is too old for a kubelet to wait for it"
	default:
		return ""
	}
}

// IsDecided reports whether the request was approved, denied or signed, or whether the
// signer has failed to sign it.
func IsDecided(r *certificatesv1.CertificateSigningRequest) bool {
	return len(r.Status.Conditions) > 0 || len(r.Status.Certificate) > 0
}

// RequesterOf returns the name of the Node that has made the request. Empty means
// that no Node has made it. The API server writes user and groups, so they can be trusted.
func RequesterOf(r *certificatesv1.CertificateSigningRequest) string {
	name, isNode := strings.CutPrefix(r.Spec.Username, NodePrefix)
	if !isNode || !slices.Contains(r.Spec.Groups, NodeGroup) {
		return ""
	}
	return name
}

// About returns the last sentence of an event on a Node that is about the request.
func About(request string) string { return fmt.Sprintf("The request is %s.", message.Value(request)) }

// IsAbout reports whether the message of an event on a Node is about the request. It
// returns false if the end of the message was cut off.
func IsAbout(text, request string) bool { return strings.HasSuffix(text, About(request)) }
