package service

import (
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/message/messagetest"
)

func TestReasonsAreComplete(t *testing.T) { messagetest.ReasonsAreComplete(t, Reasons()) }

func TestCauseOf(t *testing.T) {
	for name, tt := range map[string]struct {
		err             error
		reason, message string
	}{
		"KindHasItsReason":      {&cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.Denied, Err: errors.New("403")}, "CloudDenied", "(EnsureLoadBalancer: 403)"},
		"LockedObjectIsNoFault": {&cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.Conflict, Err: errors.New("423")}, "CloudConflict", "The Service does not have to be changed. The call is retried."},
		"QuotaNamesTheWayOut":   {&cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.QuotaExceeded, Err: errors.New("5 of 5")}, "CloudQuotaExceeded", "Have the quota raised"},
		"OtherKindIsAFailure":   {&cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.NoAnswer, Err: errors.New("nil")}, "CloudFailed", "The call is retried."},
		"UnknownErrorIsFailure": {errors.New("no"), "CloudFailed", "(no)"},
	} {
		t.Run(name, func(t *testing.T) {
			if c := causeOf(tt.err); c.Reason != tt.reason || !strings.Contains(c.Message, tt.message) {
				t.Errorf("cause %+v, want %s and %q", c, tt.reason, tt.message)
			}
		})
	}
}

// TestEventsInUpstreamsWords checks that the events have upstream's texts, because
// other programs may search for them (upstream-behaviour 6.5).
func TestEventsInUpstreamsWords(t *testing.T) {
	no := errors.New("no")
	many := make([]string, 22)
	for i := range many {
		many[i] = "n"
	}
	for want, got := range map[string]string{
		"Error syncing load balancer: failed to ensure load balancer: no":                                             callFailedEvent(failure{during: ensure, text: outcomeOf(ensure, nodeSet{}, &cloud.Error{Call: "EnsureLoadBalancer", Kind: cloud.Failed, Err: no}, noon).text}).Message,
		"Error syncing load balancer: failed to delete load balancer: no":                                             callFailedEvent(failure{during: remove, text: "no"}).Message,
		"Error deleting load balancer: no":                                                                            orphanKeptEvent(failure{during: remove, text: "no"}).Message,
		"Error syncing load balancer: failed to add load balancer cleanup finalizer: no":                              writeFailedEvent(addFinalizer, no).Message,
		"Error syncing load balancer: failed to update load balancer status: no":                                      writeFailedEvent(publish, no).Message,
		"Error updating load balancer with new hosts [a b] [node names limited, total number of nodes: 2], error: no": updateFailedEvent(limitedNames(list("a", "b"), no)).Message,
	} {
		if got != want {
			t.Errorf("event %q, want %q", got, want)
		}
	}
	if got := limitedNames(many, no); !strings.Contains(got, "n <2 more>] [node names limited, total number of nodes: 22]") {
		t.Errorf("names %q", got)
	}
}

// The event LoadBalancerQueued names the busy Service only if both Services are in one
// namespace.
func TestQueuedEventNamesNoServiceOfAnotherNamespace(t *testing.T) {
	for busy, want := range map[string]string{
		"ns/busy": "the load balancer of Service ns/busy.",
		"n/busy":  "the load balancer of a Service of another namespace.",
	} {
		if got := queuedEvent("ns/waiting", busy).Message; !strings.Contains(got, want) || want != "the load balancer of Service ns/busy." && strings.Contains(got, "busy") {
			t.Errorf("behind %s: %q, want %q in it", busy, got, want)
		}
	}
}
