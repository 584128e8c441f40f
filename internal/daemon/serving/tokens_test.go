package serving

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	testingclock "k8s.io/utils/clock/testing"
)

// TestUnknownTokensAreRarelyReviewed counts the questions to the API server that an
// attacker without valid credentials causes.
func TestUnknownTokensAreRarelyReviewed(t *testing.T) {
	kubeconfig, asked := countingAuthority(t)
	// For a busy machine, the refusal is remembered for longer than by default.
	_, url := serving(t, "--authentication-token-webhook-cache-ttl=1h --authentication-kubeconfig="+kubeconfig+" --authorization-kubeconfig="+kubeconfig)
	client := insecureClient()
	client.Transport.(*http.Transport).DisableKeepAlives = false
	get := func(path, token string) int { return status(t, client, http.MethodGet, url+path, token, nil) }

	if got := get("/metrics", "reader"); got != 200 {
		t.Fatalf("the reader gets %d", got)
	}
	asked.tokens.Store(0)
	for range 50 {
		if got := get("/healthz", "wrong"); got != 401 {
			t.Errorf("a wrong token gets %d", got)
		}
	}
	if n := asked.tokens.Load(); n != 1 {
		t.Errorf("%d TokenReviews for one wrong token, want 1", n)
	}
	asked.tokens.Store(0)
	began := time.Now()
	for i := range 300 {
		if got := get("/healthz", "wrong-"+strconv.Itoa(i)); got != 401 {
			t.Errorf("a wrong token gets %d", got)
		}
	}
	if n, most := asked.tokens.Load(), int64(unknownAtOnce+1+unknownPerSecond*time.Since(began).Seconds()); n > most {
		t.Errorf("%d TokenReviews for 300 wrong tokens, want at most %d", n, most)
	}
	if got := get("/metrics", "reader"); got != 200 {
		t.Errorf("meanwhile the reader gets %d", got)
	}
	if got := get("/healthz", ""); got != 200 {
		t.Errorf("meanwhile a probe gets %d", got)
	}
}

func TestReviewed(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Now())
	known, asked := true, 0
	r := newReviewed(authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		asked++
		if ok := known && r.Header.Get("Authorization") == "Bearer known"; !ok {
			return nil, false, errors.New("unknown")
		}
		return &authenticator.Response{}, true, nil
	}), 10*time.Second, clock)
	ask := func(token string) (bool, error) {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		request.Header.Set("Authorization", "Bearer "+token)
		_, ok, err := r.AuthenticateRequest(request)
		return ok, err
	}
	if ok, err := ask("known"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for i := range 100 {
		_, _ = ask(strconv.Itoa(i))
	}
	if asked != unknownAtOnce {
		t.Errorf("asked %d times, want %d", asked, unknownAtOnce)
	}
	if ok, err := ask("known"); !ok || err != nil {
		t.Errorf("known credentials are refused while unknown ones are bounded: %v", err)
	}
	// refused reports whether credentials are refused without a question to the API
	// server and without an error.
	refused := func(token string) bool {
		before := asked
		ok, err := ask(token)
		return !ok && err == nil && asked == before
	}
	if !refused("new") {
		t.Error("unknown credentials over the bound are asked about, or make a line in the log")
	}
	clock.SetTime(clock.Now().Add(time.Second))
	if refused("new") {
		t.Error("unknown credentials are not asked about although a second has passed")
	}
	known = false
	if ok, _ := ask("known"); ok {
		t.Error("revoked credentials are accepted")
	}
	if !refused("known") {
		t.Error("revoked credentials are asked about again at once, or make a line in the log")
	}
	// Revoked credentials count as unknown again, so the bound applies to them.
	clock.SetTime(clock.Now().Add(11 * time.Second))
	for i := range 100 {
		_, _ = ask("later-" + strconv.Itoa(i))
	}
	if !refused("known") {
		t.Error("revoked credentials go around the bound")
	}
	known = true
	clock.SetTime(clock.Now().Add(11 * time.Second))
	if ok, err := ask("known"); !ok || err != nil {
		t.Errorf("after the refusal has expired: %v", err)
	}
}

// An API server that fails while valid credentials are reviewed has not refused them.
func TestFailedReviewIsNoRefusal(t *testing.T) {
	for _, tt := range []struct {
		name    string
		err     error
		refuses bool
	}{
		{"APIServerFails", apierrors.NewInternalError(errors.New("etcd")), false},
		{"APIServerIsBusy", fmt.Errorf("a: %w", apierrors.NewTooManyRequests("later", 1)), false},
		{"APIServerIsNotReached", &url.Error{Op: "Post", URL: "https://127.0.0.1", Err: errors.New("connection refused")}, false},
		{"TimedOut", context.DeadlineExceeded, false},
		{"Canceled", context.Canceled, false},
		{"OneOfSeveral", utilerrors.NewAggregate([]error{errors.New("unknown"), apierrors.NewInternalError(errors.New("etcd"))}), false},
		{"Refused", errors.New("unknown"), true},
		{"RefusedBySeveral", utilerrors.NewAggregate([]error{errors.New("unknown"), errors.New("expired")}), true},
		{"RefusedWithoutAReason", nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer := tt.err
			fails := true
			r := newReviewed(authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
				if fails {
					return nil, false, answer
				}
				return &authenticator.Response{}, true, nil
			}), 10*time.Second, testingclock.NewFakePassiveClock(time.Now()))
			ask := func() bool {
				request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
				request.Header.Set("Authorization", "Bearer valid")
				_, ok, err := r.AuthenticateRequest(request)
				if err != nil {
					t.Errorf("the library would log %v", err)
				}
				return ok
			}
			if ask() {
				t.Error("accepted without a review")
			}
			fails = false
			if accepted := ask(); accepted == tt.refuses {
				t.Errorf("accepted at once after the failure: %v", accepted)
			}
		})
	}
}

// The library also asks about credentials in the header of web sockets. The bound
// would not apply to these questions.
func TestCredentialsOfWebSocketsAreNoCredentials(t *testing.T) {
	r := newReviewed(authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		if got := r.Header.Get("Sec-WebSocket-Protocol"); got != "" {
			t.Errorf("the library is given %q", got)
		}
		return nil, false, nil
	}), time.Second, testingclock.NewFakePassiveClock(time.Now()))
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	request.Header.Set("Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.dG9rZW4")
	if _, ok, err := r.AuthenticateRequest(request); ok || err != nil {
		t.Error(ok, err)
	}
}
