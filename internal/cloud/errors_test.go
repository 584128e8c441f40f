package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/provider"
)

func TestKindOfAnError(t *testing.T) {
	for _, tt := range []struct {
		name     string
		err      error
		kind     Kind
		evidence Evidence
		pause    time.Duration
	}{
		{"SentinelIsFoundBare", cloudprovider.InstanceNotFound, NotFound, Typed, 0},
		{"SentinelIsFoundWrapped", fmt.Errorf("a: %w", cloudprovider.InstanceNotFound), NotFound, Typed, 0},
		{"SentinelIsFoundInAnAggregate", fmt.Errorf("a: %w", utilerrors.NewAggregate([]error{errors.New("b"), cloudprovider.NotImplemented})), NotImplemented, Typed, 0},
		{"SentinelIsFoundInAJoin", errors.Join(errors.New("b"), cloudprovider.InstanceNotFound), NotFound, Typed, 0},
		{"ElsewhereIsFoundWrapped", fmt.Errorf("a: %w", utilerrors.NewAggregate([]error{cloudprovider.ImplementedElsewhere})), Elsewhere, Typed, 0},
		{"ElsewhereTwiceIsElsewhere", errors.Join(cloudprovider.ImplementedElsewhere, fmt.Errorf("b: %w", cloudprovider.ImplementedElsewhere)), Elsewhere, Typed, 0},
		{"ElsewhereBesideAStatusIsAFailure", errors.Join(httpError(503), cloudprovider.ImplementedElsewhere), Unavailable, Typed, 0},
		{"ElsewhereBesideAnyOtherErrorIsAFailure", utilerrors.NewAggregate([]error{cloudprovider.ImplementedElsewhere, errors.New("b")}), Failed, Unread, 0},
		{"ElsewhereBesideAPauseIsAFailure", errors.Join(api.NewRetryError("later", 7*time.Second), cloudprovider.ImplementedElsewhere), Pending, Typed, 7 * time.Second},
		{"ElsewhereBesideAnErrorThatWrapsItselfIsAFailure", errors.Join(cloudprovider.ImplementedElsewhere, &ring{}), Failed, Unread, 0},
		{"TextOfASentinelIsNoSentinel", errors.New(cloudprovider.InstanceNotFound.Error()), Failed, Unread, 0},
		{"RetryErrorInAnAggregateNamesThePause", utilerrors.NewAggregate([]error{api.NewRetryError("later", 7*time.Second)}), Pending, Typed, 7 * time.Second},
		{"StatusCode429", httpError(429), Throttled, Typed, 0},
		{"StatusCode403", fmt.Errorf("a: %w", httpError(403)), Denied, Typed, 0},
		{"StatusCode401", httpError(401), Denied, Typed, 0},
		{"StatusCode400AloneDoesNotBlameTheObject", httpError(400), Failed, Typed, 0},
		{"StatusCode422", httpError(422), Invalid, Typed, 0},
		{"StatusCode409", httpError(409), Conflict, Typed, 0},
		{"WordsOfAQuota", errors.New("load balancer limit reached"), QuotaExceeded, Text, 0},
		{"StatusCode503", httpError(503), Unavailable, Typed, 0},
		{"StatusCode404IsNoAnswerAboutAnInstance", httpError(404), Failed, Typed, 0},
		{"WordsOfAUsedUpQuota", errors.New("Rate exceeded for this account"), Throttled, Text, 0},
		{"WordsOfAUsedUpQuotaWithAnyStatus", errors.Join(httpError(400), errors.New("Throttling: Rate exceeded")), Throttled, Text, 0},
		{"CloudThatIsNotReached", &url.Error{Op: "Get", URL: "http://127.0.0.1:1", Err: errors.New("connection refused")}, Unavailable, Text, 0},
		{"TypedNilHasFailed", (*brokenError)(nil), Failed, Unread, 0},
		{"DeadlineIsTimedOut", fmt.Errorf("a: %w", context.DeadlineExceeded), TimedOut, Typed, 0},
		{"CanceledIsCanceled", context.Canceled, Canceled, Typed, 0},
		{"ErrorThatWrapsItselfHasFailed", &ring{}, Failed, Unread, 0},
		{"ErrorThatWrapsItselfTwiceHasFailed", &fork{}, Failed, Unread, 0},
		{"AnythingElseIsFailed", errors.New("oops"), Failed, Unread, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := classifier{}.classify(tt.err)
			if got.Kind != tt.kind || got.RetryAfter != tt.pause || got.Evidence != tt.evidence {
				t.Errorf("%v is %v by %q, pause %v, want %v by %q, pause %v", tt.err, got.Kind, got.Evidence, got.RetryAfter, tt.kind, tt.evidence, tt.pause)
			}
		})
	}
}

// brokenError panics if it is nil, as many errors do.
type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }

// ring wraps itself.
type ring struct{}

func (e *ring) Error() string { return "again" }
func (e *ring) Unwrap() error { return e }

// fork wraps itself twice.
type fork struct{}

func (e *fork) Error() string   { return "again" }
func (e *fork) Unwrap() []error { return []error{e, e} }

type httpError int

func (e httpError) Error() string   { return http.StatusText(int(e)) }
func (e httpError) StatusCode() int { return int(e) }

// The text of an error alone is never an answer about an object. Wrapping does
// not change the kind of an error.
func FuzzKindOfAnError(f *testing.F) {
	for _, seed := range []struct {
		text   string
		status int
	}{
		{cloudprovider.InstanceNotFound.Error(), 0},
		{cloudprovider.NotImplemented.Error(), 404},
		{"context canceled", 0},
		{"ThrottlingException: Rate exceeded", 400},
		{"RequestLimitExceeded", 503},
		{"Access denied", 403},
		{"\xff\x00", -1},
		{"", 0},
	} {
		f.Add(seed.text, seed.status)
	}
	f.Fuzz(func(t *testing.T, text string, status int) {
		err := errors.Join(errors.New(text), httpError(status))
		got := classifier{}.classify(err)
		kind, pause := got.Kind, got.RetryAfter
		switch kind {
		case Failed, Throttled, Denied, Invalid, Unavailable, Conflict, QuotaExceeded:
		case Succeeded, NotFound, NotImplemented, Elsewhere, Pending, Slow, TimedOut, Panicked, NoAnswer, Canceled:
			t.Errorf("%q with status %d is %s", text, status, kind)
		}
		if pause != 0 {
			t.Errorf("%q with status %d asks for a pause of %v", text, status, pause)
		}
		for name, wrapped := range map[string]error{
			"a prefix": fmt.Errorf("create route: %w", err), "an aggregate": utilerrors.NewAggregate([]error{err}), "a join": errors.Join(errors.New("a"), err),
		} {
			if got := (classifier{}).classify(wrapped).Kind; got != kind {
				t.Errorf("%q with status %d is %s, and %s within %s", text, status, kind, got, name)
			}
		}
		if got := (classifier{own: provider.Classification{Kind: provider.Denied}}).classify(errors.Join(err, cloudprovider.InstanceNotFound)).Kind; got != NotFound {
			t.Errorf("the sentinel beside %q is %s", text, got)
		}
	})
}
